-------------------------------- MODULE Trace --------------------------------
(***************************************************************************)
(* Whether a log of a real run is a behaviour of Conveyor.                 *)
(*                                                                         *)
(* The log is a sequence of what was in the database, one entry for each   *)
(* change of a job; what the processes believed is not in it, and neither  *)
(* is whether a lease has lapsed.  TLC looks for any behaviour of Conveyor *)
(* that shows this sequence: each step either changes nothing that can be  *)
(* seen, or shows the next entry.  A run is allowed if such a behaviour    *)
(* comes to the end of the log, which violates `Unfinished`; else the      *)
(* furthest entry that any behaviour has reached is printed, and the one   *)
(* behind it is what the model forbids.                                    *)
(*                                                                         *)
(* tests/trace/behaviour.py writes the module that gives `Log`.            *)
(***************************************************************************)
EXTENDS Conveyor, Sequences

CONSTANT Log

VARIABLE at     \* How many entries of the log have been shown.

\* What a log has of a row.  Of the owner only whose process it was: lives are numbered otherwise.
Shown(row) == [
    state |-> row.state, worker |-> IF row.owner = None THEN 0 ELSE row.owner[1], version |-> row.version,
    attempt |-> row.attempt, lost |-> row.lost, releases |-> row.releases, cancel |-> row.cancel]
Seen == [job |-> [j \in Jobs |-> Shown(job[j])], ledger |-> ledger, attempts |-> attempts]

\* For the worker of TLC that looks: which entry was reached by any behaviour.
ASSUME TLCSet(1, 0)
Reached == at > TLCGet(1) => TLCSet(1, at) /\ PrintT(<<"reached", at>>)

TraceInit == Init /\ at = 0
TraceNext ==
    /\ Next
    /\ \/ Seen' = Seen /\ UNCHANGED at
       \/ at < Len(Log) /\ Seen' = Log[at + 1] /\ at' = at + 1

Unfinished == at < Len(Log)
=============================================================================
