-------------------------------- MODULE Cron --------------------------------
(***************************************************************************)
(* How the ticks of a cron entry become jobs, once each, with several       *)
(* schedulers and no leader (docs/design.md, rule 14; decision 0014).       *)
(*                                                                          *)
(* Every scheduler reads the entry with the database's clock, works out     *)
(* which ticks have come since the entry's last tick (scheduler/ticks.py,   *)
(* cronrules.py), and sends one statement (sql/tick_cron.sql).  That        *)
(*   - locks the entry's row where its last tick is still what the          *)
(*     scheduler has seen, and the entry is enabled;                        *)
(*   - inserts the jobs, each under a key of the entry and the tick, where  *)
(*     there is no job with that key;                                       *)
(*   - sets the last tick.                                                  *)
(* Any time may pass between those steps: a scheduler may be frozen, killed *)
(* and replaced, or lose the reply, which changes nothing: it reads anew.   *)
(*                                                                          *)
(* To be held: no tick is enqueued twice; the last tick never falls by a    *)
(* scheduler's hand; with the policy "all" no tick is left out; every tick  *)
(* that has come is dealt with some time.                                   *)
(*                                                                          *)
(* One entry, which ticks at every instant from 1 on.                       *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Schedulers,
    End,        \* The last instant: time stops here.
    Missed,     \* The policy for what was missed: "all", "latest" or "skip".
    MaxMissed,  \* The most that "all" makes up for.
    World,      \* What else may happen: "prune" (an ended job is deleted, and its key with it), "restore" (the
                \* last tick is set back by hand), "switch" (the entry is switched off and on), "change" (its
                \* schedule is changed by a deploy: what the new one would have had in the past is not missed).
    Without     \* The parts of the protocol that a mutant lacks; {} is the protocol.

VARIABLES
    now,        \* The database's clock, the only one.
    last,       \* The entry's last tick; 0 before the first.
    enabled,    \* Whether the entry is switched on.
    keys,       \* The ticks whose jobs have a row.
    state,      \* state[s]: where scheduler s is.
    seen,       \* seen[s]: the last tick as it was when s read the entry.
    newest,     \* newest[s]: the newest tick that had come by then.
    ticks,      \* ticks[s]: those that s is going to enqueue.
    snap,       \* snap[s]: the last tick and the switch in the snapshot of s's statement.
    made,       \* made[t]: how many jobs there have ever been for tick t.  Measured, no part of the protocol.
    passed      \* The ticks over which the last tick has moved: they are dealt with, with a job or without.  Measured.

entry == <<last, enabled, keys>>
plan  == <<seen, newest, ticks, snap>>
vars  == <<now, entry, state, plan, made, passed>>

Has(part) == part \notin Without
Ticks == 1 .. End

-----------------------------------------------------------------------------
(* A scheduler *)

Max(a, b) == IF a > b THEN a ELSE b

(* due_ticks: those of (after, until] that are enqueued.  "skip" leaves out the newest, too, if it is seen late. *)
Due(after, until) ==
    CASE Missed = "all"    -> (Max(after, Max(until, MaxMissed) - MaxMissed) + 1) .. until
      [] Missed = "latest" -> {until}
      [] Missed = "skip"   -> {}

(* list_crons: the row and the clock, in one snapshot.  At "skip", whether a tick is late is decided here, too. *)
Read(s) ==
    /\ state[s] = "idle"
    /\ enabled
    /\ now > last
    /\ state' = [state EXCEPT ![s] = "planned"]
    /\ seen' = [seen EXCEPT ![s] = last]
    /\ newest' = [newest EXCEPT ![s] = now]
    /\ \E kept \in {Due(last, now)} \union (IF Missed = "skip" THEN {{now}} ELSE {}) :
           ticks' = [ticks EXCEPT ![s] = kept]
    /\ UNCHANGED <<now, entry, snap, made, passed>>

(* tick_cron begins. *)
Begin(s) ==
    /\ state[s] = "planned"
    /\ state' = [state EXCEPT ![s] = "begun"]
    /\ snap' = [snap EXCEPT ![s] = <<last, enabled>>]
    /\ UNCHANGED <<now, entry, seen, newest, ticks, made, passed>>

(* The guard.  Under the row's lock it is evaluated again on the newest version (rule 1). *)
Guard(s) ==
    LET row == IF Has("guard under the lock") THEN <<last, enabled>> ELSE snap[s]
    IN  /\ Has("last tick as seen") => row[1] = seen[s]
        /\ Has("last tick grows") => row[1] < newest[s]
        /\ Has("enabled") => row[2]

(* Those for which there is no job: ON CONFLICT DO NOTHING, on an index that knows no snapshots. *)
New(s) == IF Has("unique key") THEN ticks[s] \ keys ELSE ticks[s]

Insert(s) ==
    /\ keys' = keys \union New(s)
    /\ made' = [t \in Ticks |-> IF t \in New(s) THEN made[t] + 1 ELSE made[t]]

Set(s) ==
    /\ last' = newest[s]
    /\ passed' = passed \union (seen[s] + 1) .. newest[s]

(* What it had in mind is over. *)
Rest(s) ==
    /\ state' = [state EXCEPT ![s] = "idle"]
    /\ seen' = [seen EXCEPT ![s] = 0]
    /\ newest' = [newest EXCEPT ![s] = 0]
    /\ ticks' = [ticks EXCEPT ![s] = {}]
    /\ snap' = [snap EXCEPT ![s] = <<0, TRUE>>]

(* It takes the lock, reads the guard, inserts and sets, and commits; or it does nothing. *)
Tick(s) ==
    /\ state[s] = "begun"
    /\ IF Guard(s) THEN Insert(s) /\ Set(s) ELSE UNCHANGED <<last, keys, made, passed>>
    /\ Rest(s)
    /\ UNCHANGED <<now, enabled>>

(* A mutant: the same in two transactions, the job first or the last tick first. *)
First(s) ==
    /\ state[s] = "begun"
    /\ IF Guard(s)
       THEN /\ state' = [state EXCEPT ![s] = "half done"] /\ UNCHANGED plan
            /\ IF Has("job before last tick")
               THEN Insert(s) /\ UNCHANGED <<last, passed>>
               ELSE Set(s) /\ UNCHANGED <<keys, made>>
       ELSE Rest(s) /\ UNCHANGED <<last, keys, made, passed>>
    /\ UNCHANGED <<now, enabled>>

Second(s) ==
    /\ state[s] = "half done"
    /\ CASE ~Has("job before last tick") -> Insert(s) /\ UNCHANGED <<last, passed>>
         [] last = seen[s]                -> Set(s) /\ UNCHANGED <<keys, made>>
         [] OTHER                         -> UNCHANGED <<last, keys, made, passed>>
    /\ Rest(s)
    /\ UNCHANGED <<now, enabled>>

Statement(s) == IF Has("one transaction") THEN Tick(s) ELSE First(s) \/ Second(s)

(* It dies, or its connection does; the one that replaces it knows nothing. *)
Crash(s) ==
    /\ state[s] # "idle"
    /\ Rest(s)
    /\ UNCHANGED <<now, entry, made, passed>>

-----------------------------------------------------------------------------
(* The world *)

Pass ==
    /\ now < End
    /\ now' = now + 1
    /\ UNCHANGED <<entry, state, plan, made, passed>>

Prune(t) ==
    /\ "prune" \in World
    /\ t \in keys
    /\ keys' = keys \ {t}
    /\ UNCHANGED <<now, last, enabled, state, plan, made, passed>>

Restore(t) ==
    /\ "restore" \in World
    /\ t < last
    /\ last' = t
    /\ UNCHANGED <<now, enabled, keys, state, plan, made, passed>>

Switch ==
    /\ "switch" \in World
    /\ enabled' = ~enabled
    /\ UNCHANGED <<now, last, keys, state, plan, made, passed>>

(* declare_crons: greatest(last_tick, now). *)
Change ==
    /\ "change" \in World
    /\ last < now
    /\ last' = now
    /\ passed' = passed \union (last + 1) .. now
    /\ UNCHANGED <<now, enabled, keys, state, plan, made>>

-----------------------------------------------------------------------------

Init ==
    /\ now = 0 /\ last = 0 /\ enabled = TRUE /\ keys = {}
    /\ state = [s \in Schedulers |-> "idle"]
    /\ seen = [s \in Schedulers |-> 0]
    /\ newest = [s \in Schedulers |-> 0]
    /\ ticks = [s \in Schedulers |-> {}]
    /\ snap = [s \in Schedulers |-> <<0, TRUE>>]
    /\ made = [t \in Ticks |-> 0]
    /\ passed = {}

Ticking(s) == Read(s) \/ Begin(s) \/ Statement(s)

Next ==
    \/ \E s \in Schedulers : Ticking(s) \/ Crash(s)
    \/ \E t \in 0 .. End : Prune(t) \/ Restore(t)
    \/ Pass \/ Switch \/ Change

(* Time goes on to its end; and one scheduler gets through some time, however often it has to begin anew.  The others *)
(* may be dead, or frozen for ever.                                                                                   *)
Spec ==
    /\ Init /\ [][Next]_vars
    /\ WF_vars(Pass)
    /\ LET s == CHOOSE one \in Schedulers : TRUE
       IN  SF_vars(Read(s)) /\ SF_vars(Begin(s)) /\ SF_vars(Statement(s))

-----------------------------------------------------------------------------
(* What is to be held *)

TypeOK ==
    /\ now \in 0 .. End /\ last \in 0 .. End /\ enabled \in BOOLEAN /\ keys \subseteq Ticks
    /\ state \in [Schedulers -> {"idle", "planned", "begun", "half done"}]
    /\ seen \in [Schedulers -> 0 .. End] /\ newest \in [Schedulers -> 0 .. End]
    /\ ticks \in [Schedulers -> SUBSET Ticks]
    /\ passed \subseteq Ticks

(* No tick is enqueued twice. *)
Once == \A t \in Ticks : made[t] <= 1

(* What has not come yet is not enqueued. *)
NotEarly == \A t \in Ticks : made[t] > 0 => t <= now

(* With "all", and no more of them than it makes up for: no tick is passed over. *)
NoneLeftOut == \A t \in passed : made[t] > 0

(* The last tick only grows (where nobody sets it back by hand). *)
LastTickGrows == [][last' >= last]_last

(* An entry that is switched off makes no jobs: what a scheduler read before it was, is void. *)
OffIsOff == [][enabled]_made

(* Every tick that comes is dealt with some time, by a job or by what the policy says of missed ones. *)
AllAreDealtWith == \A t \in Ticks : now >= t ~> t \in passed

(* With "all": some time there is a job for each. *)
AllAreMade == \A t \in Ticks : now >= t ~> made[t] > 0

Symmetry == Permutations(Schedulers)
=============================================================================
