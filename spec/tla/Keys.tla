-------------------------------- MODULE Keys --------------------------------
(***************************************************************************)
(* Enqueue with an idempotency key (promise P3, rule 9; store.py and       *)
(* sql/replace_job.sql): a retried enqueue is harmless, a newer job may    *)
(* take a waiting one's place, and many producers at once neither double   *)
(* a key nor wait for each other in a circle.                              *)
(*                                                                         *)
(* A call names several keys and is one transaction, its caller's.         *)
(*   take     Insert the jobs whose key is free, in the order of the keys. *)
(*            An insert waits for a transaction that has the key and has   *)
(*            not ended, and does nothing where the key is taken.          *)
(*   find     Read who has the other keys, in a statement of its own: the  *)
(*            snapshot of the insert may be older than the commit that it  *)
(*            waited for.  Nobody has one any more: undo, begin anew.      *)
(*   free     For who replaces: take the keys from the jobs that have      *)
(*            them, in the order of the keys, under each row's lock and by *)
(*            a guard that is evaluated there.                             *)
(*   put      Insert under the keys that have become free.                 *)
(* Then the caller commits, or rolls back.  A caller that lost the reply   *)
(* calls again.  Meanwhile workers claim and end jobs, and a scheduler     *)
(* prunes them.                                                            *)
(*                                                                         *)
(* Left out: a call gives up, with an error, after some tries in a row     *)
(* (KEY_TRIES); several calls in one transaction, whose keys may cross; a  *)
(* caller whose transaction keeps one snapshot (REPEATABLE READ), where    *)
(* the look finds nothing and the call fails.                              *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Producers,
    Replacing,      \* those that replace; the others are content with whichever job has the key
    KeyCount,       \* keys are 1 .. KeyCount, and each producer enqueues one job under each
    Lives,          \* whether jobs are claimed and end
    Prunes, Losses, Rollbacks   \* how often each may happen

VARIABLES
    rows,           \* the jobs in the order of their inserts, those of open transactions too
    at,             \* where each producer's call is: [step, place]
    held,           \* held[p][k]: the job that p has found under k, or No
    saw,            \* saw[p]: who had the keys when p's call began; only a mutant looks at it
    got,            \* got[p][k]: what p was told about k: a job, or No
    budget,
    wrong           \* what was done that nobody may do

vars == <<rows, at, held, saw, got, budget, wrong>>

No == 0
Keys == 1 .. KeyCount
Nobody == [k \in Keys |-> No]
Ids == DOMAIN rows

\* Guards and choices.  Mutants replace these.
KeysAreUnique == TRUE           \* the partial unique index (queue, idempotency_key)
FindsAnew == TRUE               \* a statement, and so a snapshot, of its own
AnswersAfterCommit == TRUE      \* or before, and the transaction fails
FreeingRereads == TRUE          \* the guard is evaluated under the row's lock
BeginsAnew == TRUE              \* after a key slipped away, and with the locks of that try given up
Order(p) == [n \in Keys |-> n]  \* all producers go through the keys in one order
\* What mutants put there.
Never == FALSE
LastReplacing == CHOOSE p \in Replacing : TRUE
TwoOrders(p) == IF p = LastReplacing THEN [n \in Keys |-> KeyCount + 1 - n] ELSE [n \in Keys |-> n]

-----------------------------------------------------------------------------
(* Rows.  `open` is the transaction that has locked a row and not ended,   *)
(* `was` what the row was before it: others see that.  `stored` says that  *)
(* the job was ever committed.                                             *)

Absent == [state |-> "absent", keyed |-> FALSE]
Now(row) == [state |-> row.state, keyed |-> row.keyed]
Seen(p, row) == IF row.open \in {<<>>, <<p>>} THEN Now(row) ELSE row.was
HoldersFor(p, k) == {i \in Ids : rows[i].key = k /\ Seen(p, rows[i]).keyed}
HolderFor(p, k) == IF HoldersFor(p, k) = {} THEN No ELSE CHOOSE i \in HoldersFor(p, k) : TRUE
IsOpen(i, p) == rows[i].open \notin {<<>>, <<p>>}
\* The key's fate is decided by another transaction's end.
Undecided(p, k) == {i \in Ids : rows[i].key = k /\ IsOpen(i, p) /\ (rows[i].keyed \/ rows[i].was.keyed)}
IsTaken(p, k) == KeysAreUnique /\ HoldersFor(p, k) # {}

With(p, k) == Append(rows, [key |-> k, state |-> "waiting", keyed |-> TRUE, open |-> <<p>>, was |-> Absent,
                        stored |-> FALSE])
Undone(p) == [i \in Ids |->
    IF rows[i].open = <<p>>
    THEN [rows[i] EXCEPT !.state = rows[i].was.state, !.keyed = rows[i].was.keyed, !.open = <<>>]
    ELSE rows[i]]
Done(p) == [i \in Ids |->
    IF rows[i].open = <<p>> THEN [rows[i] EXCEPT !.open = <<>>, !.was = Absent, !.stored = TRUE] ELSE rows[i]]

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

-----------------------------------------------------------------------------
(* A producer's call.                                                      *)

Step(p) == at[p].step
Key(p) == Order(p)[at[p].place]
Go(p, step) == at' = [at EXCEPT ![p] = [step |-> step, place |-> 1]]
GoOn(p, last) == IF at[p].place < KeyCount THEN at' = [at EXCEPT ![p].place = @ + 1] ELSE Go(p, last)
Mine(p) == {i \in Ids : rows[i].open = <<p>> /\ rows[i].keyed}
MineFor(p, k) == {i \in Mine(p) : rows[i].key = k}

Begin(p) ==
    /\ Step(p) = "idle"
    /\ Go(p, "take")
    /\ saw' = [saw EXCEPT ![p] = [k \in Keys |-> HolderFor(p, k)]]
    /\ held' = [held EXCEPT ![p] = Nobody]
    /\ UNCHANGED <<rows, got, budget, wrong>>

Take(p) ==
    /\ Step(p) = "take" /\ (KeysAreUnique => Undecided(p, Key(p)) = {})
    /\ rows' = IF IsTaken(p, Key(p)) THEN rows ELSE With(p, Key(p))
    /\ GoOn(p, "find")
    /\ UNCHANGED <<held, saw, got, budget, wrong>>

\* A key slipped away between two statements: all is undone, so that locks are taken in order again.
Slip(p) ==
    /\ rows' = Undone(p)
    /\ Go(p, IF BeginsAnew THEN "idle" ELSE "told")
    /\ UNCHANGED <<held, wrong>>
\* The holder runs: the caller gets an error, and nothing is stored.
Fail(p) == rows' = Undone(p) /\ Go(p, "refused") /\ UNCHANGED <<held, wrong>>

Runs(p, i) == Seen(p, rows[i]).state = "running"
Find(p) ==
    /\ Step(p) = "find"
    /\ LET found == [k \in Keys |->
               IF MineFor(p, k) # {} THEN CHOOSE i \in MineFor(p, k) : TRUE
               ELSE IF FindsAnew THEN HolderFor(p, k) ELSE saw[p][k]]
           others == {k \in Keys : MineFor(p, k) = {}}
       IN  IF FindsAnew /\ (\E k \in others : found[k] = No) THEN Slip(p)
           ELSE IF p \in Replacing /\ (\E k \in others : found[k] # No /\ Runs(p, found[k])) THEN Fail(p)
           ELSE /\ held' = [held EXCEPT ![p] = found]
                /\ Go(p, IF p \in Replacing THEN "free" ELSE "open")
                /\ UNCHANGED <<rows, wrong>>
    /\ UNCHANGED <<saw, got, budget>>

Free(p) ==
    /\ Step(p) = "free"
    /\ LET k == Key(p)
           i == held[p][k]
           again == HolderFor(p, k)
       IN  IF MineFor(p, k) # {} \/ i = No THEN GoOn(p, "put") /\ UNCHANGED <<rows, held, wrong>>
           ELSE /\ ~IsOpen(i, p)
                /\ IF ~FreeingRereads \/ (rows[i].keyed /\ rows[i].state # "running")
                   THEN /\ rows' = [rows EXCEPT ![i].keyed = FALSE, ![i].open = <<p>>, ![i].was = Now(rows[i]),
                                                ![i].state = IF @ = "ended" THEN @ ELSE "cancelled"]
                        /\ wrong' = wrong \cup (IF rows[i].state = "running" THEN {"cancelled what runs"} ELSE {})
                        /\ GoOn(p, "put")
                        /\ UNCHANGED held
                   ELSE IF again = No THEN Slip(p)
                   ELSE IF Runs(p, again) THEN Fail(p)
                   ELSE held' = [held EXCEPT ![p][k] = again] /\ UNCHANGED <<rows, at, wrong>>
    /\ UNCHANGED <<saw, got, budget>>

PutInPlace(p) ==
    /\ Step(p) = "put"
    /\ LET k == Key(p)
       IN  IF MineFor(p, k) # {} THEN GoOn(p, "open") /\ UNCHANGED <<rows, held, wrong>>
           ELSE /\ Undecided(p, k) = {}
                /\ IF IsTaken(p, k) THEN Slip(p)
                   ELSE rows' = With(p, k) /\ GoOn(p, "open") /\ UNCHANGED <<held, wrong>>
    /\ UNCHANGED <<saw, got, budget>>

Told(p) == [k \in Keys |-> IF MineFor(p, k) # {} THEN CHOOSE i \in MineFor(p, k) : TRUE ELSE held[p][k]]
Commit(p) ==
    /\ Step(p) = "open"
    /\ rows' = IF AnswersAfterCommit THEN Done(p) ELSE Undone(p)
    /\ \/ Go(p, "told") /\ got' = [got EXCEPT ![p] = Told(p)] /\ UNCHANGED budget
       \/ Go(p, "idle") /\ Spend("loss") /\ UNCHANGED got
    /\ UNCHANGED <<held, saw, wrong>>
Rollback(p) ==
    /\ Step(p) = "open" /\ Spend("rollback")
    /\ rows' = Undone(p) /\ Go(p, "idle")
    /\ UNCHANGED <<held, saw, got, wrong>>

-----------------------------------------------------------------------------
(* Workers and schedulers; they skip a row that is locked.                 *)

Change(i, from, to) ==
    /\ rows[i].open = <<>> /\ rows[i].state = from
    /\ rows' = [rows EXCEPT ![i].state = to, ![i].keyed = @ /\ to # "absent"]
    /\ UNCHANGED <<at, held, saw, got, wrong>>
Claim(i) == Lives /\ Change(i, "waiting", "running") /\ UNCHANGED budget
End(i) == Lives /\ Change(i, "running", "ended") /\ UNCHANGED budget
Prune(i) == Spend("prune") /\ (Change(i, "ended", "absent") \/ Change(i, "cancelled", "absent"))

-----------------------------------------------------------------------------

Init ==
    /\ rows = <<>> /\ wrong = {}
    /\ at = [p \in Producers |-> [step |-> "idle", place |-> 1]]
    /\ held = [p \in Producers |-> Nobody] /\ saw = [p \in Producers |-> Nobody] /\ got = [p \in Producers |-> Nobody]
    /\ budget = [prune |-> Prunes, loss |-> Losses, rollback |-> Rollbacks]

OfProducer(p) == Begin(p) \/ Take(p) \/ Find(p) \/ Free(p) \/ PutInPlace(p) \/ Commit(p)
HasEnded(p) == Step(p) \in {"told", "refused"}
Over == (\A p \in Producers : HasEnded(p)) /\ UNCHANGED vars
Next ==
    \/ \E p \in Producers : OfProducer(p) \/ Rollback(p)
    \/ \E i \in Ids : Claim(i) \/ End(i) \/ Prune(i)
    \/ Over

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ \A p \in Producers : WF_vars(OfProducer(p))

-----------------------------------------------------------------------------
(* What must hold.                                                         *)

\* As everybody else sees it, a key is one job's.
OneHolder == \A k \in Keys : Cardinality({i \in Ids :
    rows[i].key = k /\ (IF rows[i].open = <<>> THEN rows[i].keyed ELSE rows[i].was.keyed)}) <= 1

\* P3: without pruning and replacing, a key has never more than one job, however often it is enqueued.
OneJobPerKey == (Replacing = {} /\ Prunes = 0) => \A k \in Keys : Cardinality({i \in Ids :
    rows[i].key = k /\ rows[i].state # "absent" /\ rows[i].open = <<>>}) <= 1

\* Who is told that a job was accepted, or is there already, is told which, and it was committed.
AnswersAreJobs == \A p \in Producers : Step(p) = "told" => \A k \in Keys :
    got[p][k] \in Ids /\ rows[got[p][k]].key = k /\ rows[got[p][k]].stored

WhatRunsIsLeftAlone == wrong = {}

\* Who waits for whose transaction.
WaitsFor(p) ==
    CASE Step(p) \in {"take", "put"} /\ KeysAreUnique -> {rows[i].open[1] : i \in Undecided(p, Key(p))}
      [] Step(p) = "free" /\ held[p][Key(p)] # No /\ IsOpen(held[p][Key(p)], p) -> {rows[held[p][Key(p)]].open[1]}
      [] OTHER -> {}
\* PostgreSQL would end one of them with an error after a second.
WaitsBehind(p) == UNION {WaitsFor(q) : q \in WaitsFor(p)}
NoCircle == \A p \in Producers : p \notin WaitsBehind(p) \cup UNION {WaitsBehind(q) : q \in WaitsFor(p)}

EveryCallEnds == \A p \in Producers : <>[]HasEnded(p)

Interchangeable == Permutations(Replacing) \cup Permutations(Producers \ Replacing)
=============================================================================
