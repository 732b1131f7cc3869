------------------------------- MODULE Wakeup -------------------------------
(***************************************************************************)
(* How an idle worker learns that there is a job: a debounced NOTIFY, one   *)
(* more look, and a poll that never stops (docs/design.md, section 5.5).    *)
(*                                                                          *)
(* A producer rings after its commit, unless it has rung within the last    *)
(* Window: the first ring of a window stands for the others (notify.py).    *)
(* A worker that is woken looks at once, and once more a Window later, so   *)
(* that it finds what was committed behind a ring that was held back        *)
(* (worker/appetite.py).  Whatever is lost, it looks a Poll later.          *)
(*                                                                          *)
(* To be held: a ready job is claimed within a Window and a notification's  *)
(* Delay if nothing is lost, within a Poll whatever is lost, and so no job  *)
(* waits for ever.                                                          *)
(*                                                                          *)
(* One queue.  Time is counted in ticks; a tick passes only when nobody has *)
(* anything to do at this very moment, and then for everybody.  What takes  *)
(* no time here still comes in any order.  Timers count down, so that time  *)
(* has no end and the states are finite: a job that has run may be enqueued *)
(* again.                                                                   *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Producers, Workers, Jobs,
    Slots,      \* Runs that a worker has at a time, at the most.
    Window,     \* Ticks: a producer rings once in it, and a worker looks once more after it.
    Delay,      \* Ticks that a notification takes, at the most.
    Poll,       \* Ticks between two looks of an idle worker.  Greater than Window + Delay.
    Faults,     \* What may happen: "lost" (a ring or a notification vanishes), "refused" (NOTIFY fails, and
                \* the producer knows), "deaf" (a listener's connection is gone for a while).
    Without     \* The parts of the protocol that a mutant lacks; {} is the protocol.

VARIABLES
    open,       \* open[p]: the jobs in transactions of producer p that are not committed.
    line,       \* The ready jobs in the order in which they became ready; what was committed, everybody sees.
    hook,       \* hook[p]: whether p has still to ring for a commit.
    shut,       \* shut[p]: ticks until p may ring again.
    sending,    \* sending[p]: whether p's NOTIFY is on its way to the server.
    mail,       \* Notifications on their way to workers: <<producer, worker, ticks on the way>>.
    hears,      \* hears[w]: whether w's listener is connected.
    inbox,      \* inbox[w]: whether there is a wake-up that w's pump has not seen yet.
    next,       \* next[w]: ticks until w looks, or Never.
    again,      \* again[w]: whether w is to look once more after the next look.
    look,       \* look[w]: what w's claim in flight saw in the line, or NoLook.
    runs,       \* runs[w]: the jobs that w runs.
    waits       \* waits[j]: ticks that j has been ready for.  No part of the protocol: it is what is measured.

producing == <<open, hook, shut, sending>>
working   == <<inbox, next, again, look, runs>>
vars      == <<open, line, hook, shut, sending, mail, hears, inbox, next, again, look, runs, waits>>

Never  == Poll + 1
NoLook == <<"no look">>

Has(part) == part \notin Without

(* A job whose wake-up failed, as its producer knows, has to wait for the poll: it is measured apart. *)
Late == Poll + 2

InLine == {line[i] : i \in DOMAIN line}
Idle   == Jobs \ (InLine \union UNION {open[p] : p \in Producers} \union UNION {runs[w] : w \in Workers})
Room(w) == Slots - Cardinality(runs[w])

-----------------------------------------------------------------------------
(* Producers *)

(* A job's row is written, in a transaction that nobody else sees into. *)
Write(p, j) ==
    /\ j \in Idle
    /\ open' = [open EXCEPT ![p] = @ \union {j}]
    /\ hook' = IF Has("ring after commit") THEN hook ELSE [hook EXCEPT ![p] = TRUE]
    /\ UNCHANGED <<line, shut, sending, mail, hears, working, waits>>

Commit(p, j) ==
    /\ j \in open[p]
    /\ open' = [open EXCEPT ![p] = @ \ {j}]
    /\ line' = Append(line, j)
    /\ hook' = IF Has("ring after commit") THEN [hook EXCEPT ![p] = TRUE] ELSE hook
    /\ UNCHANGED <<shut, sending, mail, hears, working, waits>>

(* notify_now: the first ring of a window is sent, the others are held back.  It is noted before it is sent: *)
(* meanwhile, other threads of the process hold theirs back already.                                         *)
Ring(p) ==
    /\ hook[p]
    /\ hook' = [hook EXCEPT ![p] = FALSE]
    /\ IF shut[p] = 0
       THEN /\ shut' = [shut EXCEPT ![p] = Window]
            /\ sending' = [sending EXCEPT ![p] = TRUE]
       ELSE UNCHANGED <<shut, sending>>
    /\ UNCHANGED <<open, line, mail, hears, working, waits>>

Send(p) ==
    /\ sending[p]
    /\ sending' = [sending EXCEPT ![p] = FALSE]
    /\ mail' = mail \union {<<p, w, 0>> : w \in {v \in Workers : hears[v]}}
    /\ UNCHANGED <<open, line, hook, shut, hears, working, waits>>

(* The database refuses the NOTIFY: the next ring is let through (Doorbell.forget). *)
Refuse(p) ==
    /\ "refused" \in Faults
    /\ sending[p]
    /\ sending' = [sending EXCEPT ![p] = FALSE]
    /\ shut' = IF Has("forget a refused ring") THEN [shut EXCEPT ![p] = 0] ELSE shut
    /\ waits' = [j \in Jobs |-> IF j \in InLine /\ "lost" \notin Faults THEN Late ELSE waits[j]]
    /\ UNCHANGED <<open, line, hook, mail, hears, working>>

(* The producer dies, or commits by hand, which Django has no hook for. *)
LoseRing(p) ==
    /\ "lost" \in Faults
    /\ hook[p]
    /\ hook' = [hook EXCEPT ![p] = FALSE]
    /\ UNCHANGED <<open, line, shut, sending, mail, hears, working, waits>>

-----------------------------------------------------------------------------
(* Listeners: the wake-up thread of a worker (worker/wakeup.py) *)

Hear(m) ==
    /\ mail' = mail \ {m}
    /\ inbox' = [inbox EXCEPT ![m[2]] = TRUE]
    /\ UNCHANGED <<producing, line, hears, next, again, look, runs, waits>>

Lose(m) ==
    /\ "lost" \in Faults
    /\ mail' = mail \ {m}
    /\ UNCHANGED <<producing, line, hears, working, waits>>

(* The connection is gone, or half open: what was under way on it is lost. *)
GoDeaf(w) ==
    /\ "deaf" \in Faults
    /\ hears[w]
    /\ hears' = [hears EXCEPT ![w] = FALSE]
    /\ mail' = {m \in mail : m[2] # w}
    /\ UNCHANGED <<producing, line, working, waits>>

(* It listens again, and takes it that it has missed something. *)
Reconnect(w) ==
    /\ ~hears[w]
    /\ hears' = [hears EXCEPT ![w] = TRUE]
    /\ inbox' = IF Has("look after a reconnect") THEN [inbox EXCEPT ![w] = TRUE] ELSE inbox
    /\ UNCHANGED <<producing, line, mail, next, again, look, runs, waits>>

-----------------------------------------------------------------------------
(* The pump of a worker, one thread (worker/pump.py); when it looks is worker/appetite.py *)

(* woken() *)
Wake(w) ==
    /\ inbox[w]
    /\ look[w] = NoLook
    /\ inbox' = [inbox EXCEPT ![w] = FALSE]
    /\ next' = [next EXCEPT ![w] = 0]
    /\ again' = [again EXCEPT ![w] = TRUE]
    /\ UNCHANGED <<producing, line, mail, hears, look, runs, waits>>

IsDue(w) == look[w] = NoLook /\ next[w] = 0 /\ Room(w) > 0

(* The claim's snapshot: what is committed later, it does not see. *)
BeginLook(w) ==
    /\ IsDue(w)
    /\ look' = [look EXCEPT ![w] = line]
    /\ UNCHANGED <<producing, line, mail, hears, inbox, next, again, runs, waits>>

(* When to look after a look that asked for `asked` jobs and got `got`, and whether once more after that: looked(). *)
AfterLook(w, asked, got) ==
    LET onceMore == \/ got > 0 /\ Has("look again after a claim")
                    \/ again[w] /\ Has("look again after a wake-up")
        second   == IF Has("a window of the same length") THEN Window ELSE Window - 1
    IN  CASE got >= asked -> <<0, again[w]>>
          [] got < asked /\ onceMore -> <<second, FALSE>>
          [] OTHER -> <<IF Has("poll") THEN Poll ELSE Never, again[w]>>

(* It claims, in the order of the line, what it saw and nobody else has claimed meanwhile. *)
EndLook(w) ==
    /\ look[w] # NoLook
    /\ LET seen    == SelectSeq(look[w], LAMBDA j : j \in InLine)
           got     == IF Len(seen) < Room(w) THEN Len(seen) ELSE Room(w)
           claimed == {seen[i] : i \in 1 .. got}
           then    == AfterLook(w, Room(w), got)
       IN  /\ line' = SelectSeq(line, LAMBDA j : j \notin claimed)
           /\ runs' = [runs EXCEPT ![w] = @ \union claimed]
           /\ waits' = [j \in Jobs |-> IF j \in claimed THEN 0 ELSE waits[j]]
           /\ next' = [next EXCEPT ![w] = then[1]]
           /\ again' = [again EXCEPT ![w] = then[2]]
    /\ look' = [look EXCEPT ![w] = NoLook]
    /\ inbox' = IF Has("an inbox") THEN inbox ELSE [inbox EXCEPT ![w] = FALSE]
    /\ UNCHANGED <<producing, mail, hears>>

(* A run ends, not during a claim: the number that a claim asks for stands. *)
EndRun(w) ==
    /\ look[w] = NoLook
    /\ \E j \in runs[w] : runs' = [runs EXCEPT ![w] = @ \ {j}]
    /\ UNCHANGED <<producing, line, mail, hears, inbox, next, again, look, waits>>

-----------------------------------------------------------------------------
(* Time *)

(* Nobody has anything to do at this moment.  A run takes as long as it likes, and so does a transaction. *)
Quiet ==
    /\ \A p \in Producers : ~hook[p] /\ ~sending[p]
    /\ \A m \in mail : m[3] < Delay
    /\ \A w \in Workers : ~inbox[w] /\ look[w] = NoLook /\ ~IsDue(w)

Less(n) == IF n > 0 THEN n - 1 ELSE 0

(* Waiting is counted while somebody could take the job: has a free slot and, where the bound is the wake-up's, hears. *)
Attended == \E w \in Workers : Room(w) > 0 /\ (hears[w] \/ "lost" \in Faults)

Tick ==
    /\ Quiet
    /\ shut' = [p \in Producers |-> Less(shut[p])]
    /\ next' = [w \in Workers |-> IF next[w] = Never THEN Never ELSE Less(next[w])]
    /\ mail' = {<<m[1], m[2], m[3] + 1>> : m \in mail}
    /\ waits' = [j \in Jobs |-> IF j \in InLine /\ Attended /\ waits[j] <= Poll THEN waits[j] + 1 ELSE waits[j]]
    /\ UNCHANGED <<open, line, hook, sending, hears, inbox, again, look, runs>>

-----------------------------------------------------------------------------

Init ==
    /\ open = [p \in Producers |-> {}]
    /\ line = <<>>
    /\ hook = [p \in Producers |-> FALSE]
    /\ shut = [p \in Producers |-> 0]
    /\ sending = [p \in Producers |-> FALSE]
    /\ mail = {}
    /\ hears = [w \in Workers |-> TRUE]
    /\ inbox = [w \in Workers |-> FALSE]
    /\ next = [w \in Workers |-> 0]
    /\ again = [w \in Workers |-> FALSE]
    /\ look = [w \in Workers |-> NoLook]
    /\ runs = [w \in Workers |-> {}]
    /\ waits = [j \in Jobs |-> 0]

Producing(p) == Ring(p) \/ Send(p) \/ \E j \in Jobs : Write(p, j) \/ Commit(p, j)
Hearing(w)   == \E m \in mail : m[2] = w /\ Hear(m)
Working(w)   == Hearing(w) \/ Reconnect(w) \/ Wake(w) \/ BeginLook(w) \/ EndLook(w) \/ EndRun(w)
Failing      == \/ \E p \in Producers : Refuse(p) \/ LoseRing(p)
                \/ \E m \in mail : Lose(m)
                \/ \E w \in Workers : GoDeaf(w)

Next ==
    \/ \E p \in Producers : Producing(p)
    \/ \E w \in Workers : Working(w)
    \/ Failing
    \/ Tick

(* Time goes on, and threads that can do something do it some time; runs end.  Nothing is said of transactions, of  *)
(* faults, or of connections that come back.  Time is strongly fair, since a busy producer interrupts its quiet.    *)
Spec ==
    /\ Init /\ [][Next]_vars
    /\ SF_vars(Tick)
    /\ \A p \in Producers : WF_vars(Ring(p)) /\ WF_vars(Send(p))
    /\ \A w \in Workers : WF_vars(Wake(w)) /\ WF_vars(BeginLook(w)) /\ WF_vars(EndLook(w))
    /\ \A w \in Workers : WF_vars(EndRun(w)) /\ WF_vars(Hearing(w))

-----------------------------------------------------------------------------
(* What is to be held *)

TypeOK ==
    /\ open \in [Producers -> SUBSET Jobs]
    /\ line \in UNION {[1 .. n -> Jobs] : n \in 0 .. Cardinality(Jobs)}
    /\ hook \in [Producers -> BOOLEAN] /\ sending \in [Producers -> BOOLEAN]
    /\ shut \in [Producers -> 0 .. Window]
    /\ mail \subseteq Producers \X Workers \X (0 .. Delay)
    /\ hears \in [Workers -> BOOLEAN] /\ inbox \in [Workers -> BOOLEAN] /\ again \in [Workers -> BOOLEAN]
    /\ next \in [Workers -> 0 .. Never]
    /\ runs \in [Workers -> SUBSET Jobs]
    /\ waits \in [Jobs -> 0 .. Late]

(* No worker takes more than it can run, and no two the same. *)
Claims ==
    /\ \A w \in Workers : Room(w) >= 0
    /\ \A v, w \in Workers : v # w => runs[v] \intersect runs[w] = {}

(* Where nothing is lost without a word, a ready job is claimed within a window and a notification's delay. *)
Prompt == \A j \in InLine : waits[j] # Late => waits[j] <= Window + Delay

(* Whatever is lost, it is claimed within a poll. *)
WithinAPoll == \A j \in InLine : waits[j] # Late => waits[j] <= Poll

(* For any loss of notifications, no job waits for ever. *)
NobodyWaitsForEver == \A j \in Jobs : j \in InLine ~> j \notin InLine

Symmetry == Permutations(Producers) \union Permutations(Workers) \union Permutations(Jobs)
=============================================================================
