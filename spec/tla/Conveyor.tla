------------------------------ MODULE Conveyor ------------------------------
(***************************************************************************)
(* The protocol of Conveyor: jobs as rows of a database, which workers     *)
(* lease, run and end, and schedulers take back.  The database is the only *)
(* state that is shared; all else is what one process believes.            *)
(*                                                                         *)
(* A worker is a supervisor and its child process.  Each life of a child   *)
(* is an incarnation, with an id of its own, the owner of its leases: when *)
(* the child dies, the next one has another.  A run is one claim of a job  *)
(* as its process sees it, named by its token: owner, job and version.     *)
(* Nothing stops a process from going on with a run whose lease has lapsed *)
(* (it was frozen, or did not notice): such a run is a zombie, and the     *)
(* fence in each statement is all that keeps it from doing harm.           *)
(*                                                                         *)
(* Time is nondeterminism.  A lease lapses for nothing if no living        *)
(* process renews it, and at the price of `Lapses` if one does: that is a  *)
(* process frozen for longer than its lease.                               *)
(*                                                                         *)
(* One action is one commit, and most statements are one step.  Where what *)
(* was read may be old by the time of the write, they have two: the        *)
(* snapshot, and later the row's lock, under which the guard is evaluated  *)
(* again, as PostgreSQL does at READ COMMITTED.  With `Snapshots` these    *)
(* are the claim (SeeReady, ClaimSeen), each end of a run and each durable *)
(* step (Read, Commit or Refuse), the rescue by lease (SeeLapsed, Rescue)  *)
(* and the sweep (SeeLate, Sweep).  A claim under a cap always has two     *)
(* (Ask, Take).  One uncapped claim at a time has an old snapshot, which   *)
(* others pass in one step; so has one look of a scheduler, on which       *)
(* another may act again.  One step are enqueue, promote, cancel, requeue, *)
(* prune, renew, the rescue by owner, what is given back after a lost      *)
(* reply, and a claim that nobody hears of.                                *)
(*                                                                         *)
(* With `Transactions` a success keeps its row locked until its handler's  *)
(* transaction commits; everybody else skips a locked row.                 *)
(*                                                                         *)
(* The features are constants, and each configuration, a .cfg file, has on *)
(* what it is about; together they would be too many states.  Guards are   *)
(* operators with names of their own, and each mutant in mutants/ puts     *)
(* another operator in the place of one.                                   *)
(*                                                                         *)
(* Left out:                                                               *)
(* - order and priority of jobs, queues (there is one), parking, soft      *)
(*   caps, and caps that change.  So that every job ends assumes that none *)
(*   waits for ever behind others of a higher priority;                    *)
(* - batches: a claim takes one job, and a statement ends one run;         *)
(* - that a worker's outcomes and its next claim are one transaction, of   *)
(*   which a lost reply leaves both unknown; here they are two commits,    *)
(*   and each may lose its reply;                                          *)
(* - that a job which was lost often runs alone for a while, and that the  *)
(*   oldest attempt rows of a job are trimmed;                             *)
(* - payloads, results, keys (Keys.tla), notifications (Wakeup.tla) and    *)
(*   cron (Cron.tla); deadlines of handlers;                               *)
(* - workflows that are run again, and their callbacks; a job that is      *)
(*   added to a workflow whose first jobs are pruned.                      *)
(* What a supervisor writes for a child that it had to kill is an end like *)
(* others.  The takeover of a whole dead tree by a scheduler is the lapse  *)
(* of all its leases.  A retry and a snooze have a delay.                  *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Jobs, Workers,
    Edges,          \* who needs whom: tuples <<child, parent, on_failure>>, "cancel" or "ignore"
    Steps,          \* the durable steps of every handler
    Verbs,          \* how a handler may end: of "succeed", "retry", "fail", "snooze", "release", "cancel"
    Killers,        \* jobs whose handler kills its process, each time
    AtOnce,         \* whether all jobs are there from the beginning
    Slots,          \* how many runs a process may hold
    Cap,            \* the exact cap: how many jobs may run at once; 0 is none
    MaxAttempts,    \* how often a job may fail
    MaxLost,        \* how often its runs may be lost
    MaxReleases,    \* how often it may be given back
    Snapshots, Transactions,
    \* How often each may happen in a behaviour.
    Crashes, Lapses, Losses, Snoozes, Cancels, Requeues, Prunes, Failovers

VARIABLES
    \* The database.
    job,            \* a row for each job, and as a witness in how many ways it has ever ended
    ledger,         \* what has committed: <<job, step, version>>; the step Success ends the job
    attempts,       \* runs that ended otherwise: <<job, version>>
    edges,          \* for each edge, whether it is resolved
    permits,        \* the places of the cap, each naming the run that took it last: <<job, version>>
    \* Processes.
    runs,           \* the runs that processes hold, and statements of dead ones that the server still has
    asks,           \* claims that the server has and has not executed: [owner, saw, deaf]
    incarnation,    \* of each worker, the life that it is in
    doubtful,       \* workers that lost a claim's connection, and have not looked yet what came of it
    strangers,      \* workers that do not know yet that the database has another history
    takeovers,      \* dead processes that their supervisor is about to rescue: [owner, started]
    glances,        \* what schedulers have read and not yet acted on
    \* The world, and the witness.
    budget,         \* how often each misfortune may still come
    replica,        \* what a standby has of the database, or None
    effects,        \* how often each step of each job has committed its effect; rolled back with the database
    wrong           \* what was done that nobody may do

database == <<job, ledger, attempts, edges, permits, effects>>
processes == <<runs, asks, incarnation, doubtful, strangers>>
vars == <<database, processes, takeovers, glances, budget, replica, wrong>>

-----------------------------------------------------------------------------
(* Words.                                                                  *)

Waiting == {"blocked", "scheduled", "ready"}
Terminal == {"succeeded", "failed", "cancelled"}
States == Waiting \cup Terminal \cup {"running"}

\* What may lead where; "new" is before enqueue, "gone" after prune.  The table of conveyor_django/states.py: a test
\* compares the two.
Legal == {
    <<"enqueue", "new", "blocked">>,
    <<"enqueue", "new", "scheduled">>,
    <<"enqueue", "new", "ready">>,
    <<"promote", "scheduled", "ready">>,
    <<"promote", "scheduled", "scheduled">>,
    <<"promote", "blocked", "ready">>,
    <<"promote", "blocked", "scheduled">>,
    <<"claim", "ready", "running">>,
    <<"renew", "running", "running">>,
    <<"succeed", "running", "succeeded">>,
    <<"retry", "running", "ready">>,
    <<"retry", "running", "scheduled">>,
    <<"retry", "running", "cancelled">>,
    <<"snooze", "running", "ready">>,
    <<"snooze", "running", "scheduled">>,
    <<"snooze", "running", "cancelled">>,
    <<"fail", "running", "failed">>,
    <<"fail", "running", "cancelled">>,
    <<"cancel", "blocked", "cancelled">>,
    <<"cancel", "scheduled", "cancelled">>,
    <<"cancel", "ready", "cancelled">>,
    <<"cancel", "running", "cancelled">>,
    <<"release", "running", "ready">>,
    <<"release", "running", "scheduled">>,
    <<"release", "running", "failed">>,
    <<"release", "running", "cancelled">>,
    <<"rescue", "running", "ready">>,
    <<"rescue", "running", "failed">>,
    <<"rescue", "running", "cancelled">>,
    <<"requeue", "failed", "ready">>,
    <<"requeue", "failed", "blocked">>,
    <<"requeue", "cancelled", "ready">>,
    <<"requeue", "cancelled", "blocked">>,
    <<"prune", "succeeded", "gone">>,
    <<"prune", "failed", "gone">>,
    <<"prune", "cancelled", "gone">>
}

Success == ""
None == <<>>
Places == 1..Cap

Me(w) == <<w, incarnation[w]>>
IsAlive(owner) == incarnation[owner[1]] = owner[2]
RunsOf(w) == {run \in runs : run.owner = Me(w)}
Token(run) == <<run.job, run.version>>

NewRow == [
    state |-> "new", owner |-> None, version |-> 0, leased |-> FALSE, attempt |-> 0, lost |-> 0, releases |-> 0,
    cancel |-> FALSE, pending |-> 0, ended |-> {}]

EdgesOf(j) == {e \in Edges : e[1] = j}
\* How a job begins: a job that needs others is blocked, and counts them.
Accepted(j) == [NewRow EXCEPT
    !.state = IF EdgesOf(j) = {} THEN "ready" ELSE "blocked",
    !.pending = Cardinality(EdgesOf(j))]

-----------------------------------------------------------------------------
(* Guards.  Mutants replace these, and IsRenewed and HasLapsed below.      *)

\* The fence: whose statements about a run may change the job's row (design, rule 1).
GuardState(row, run) == row.state = "running"
GuardOwner(row, run) == row.owner = run.owner
GuardVersion(row, run) == row.version = run.version
Fence(row, run) == GuardState(row, run) /\ GuardOwner(row, run) /\ GuardVersion(row, run)

\* Whether the guard is evaluated again under the row's lock, and not only on what the statement's snapshot saw.
ClaimRereads == TRUE
FenceIsReread == TRUE
RescueRereads == TRUE
PermitIsCompared == TRUE
SweepRereads == TRUE

\* Unique (job, step), and unique (job, version): locks of their own.
LedgerIsUnique == TRUE
AttemptsAreUnique == TRUE

\* Which rows a heartbeat extends: by token (rule 4).
RenewalReaches(row, j, run) == j = run.job /\ Fence(row, run)

EffectIsInTransaction == TRUE       \* or it commits by itself, before the outcome
WithEffect(count) == count + 1      \* what commits has its effect with it
ClaimsTakePermits == TRUE           \* or they only count what runs in their snapshot
NextVersion(version) == version + 1 \* the fence grows with each claim
VersionAfterRequeue(version) == version
LossesCount == TRUE                 \* the bound of lost runs (rule 5)
ReleasesCount == TRUE               \* the bound of free releases (rule 5)
AttemptsCount == TRUE               \* the budget of failures
HeedsCancel == TRUE                 \* a cancelled job does not run again (rule 12)
GivesBackUnknown == TRUE            \* a claim whose reply was lost is given back after the reconnect (rule 4)
SupervisorRescues == TRUE           \* a dead child's jobs are taken back at once
EndReleases == TRUE                 \* the end of a job resolves the edges to it (rule 10)
Sweeps == TRUE                      \* a scheduler resolves what is left
LoweredBy(count) == count           \* by how much resolved edges lower their child
LeavesAfterFailover == TRUE         \* a process that sees another history is replaced
PruneWaits == TRUE                  \* jobs of a workflow stay until all of them have ended
RequeueableStates == {"failed", "cancelled"}

\* What mutants put there.
No == FALSE
Unguarded(row, run) == TRUE
Never(j) == FALSE
OwnerLives(j) == job[j].owner # None /\ IsAlive(job[j].owner)
RenewalByOwner(row, j, run) == row.state = "running" /\ row.owner = run.owner
Same(number) == number
Zero(number) == 0
One(count) == 1

-----------------------------------------------------------------------------
(* Writing rows.                                                           *)

\* A run whose transaction is open keeps its job's row locked.  Nobody waits for it (rule 2).
IsLocked(j) == \E run \in runs : run.phase = "locked" /\ run.job = j

\* What resolving the edges `marked` makes of the rows: each child is lowered by their number (rule 10).
Lowered(rows, marked) == [c \in Jobs |->
    LET mine == {e \in marked : e[1] = c}
        row == rows[c]
        cancels == \E e \in mine : e[3] = "cancel" /\ rows[e[2]].state # "succeeded"
        left == row.pending - LoweredBy(Cardinality(mine))
    IN  IF mine = {} THEN row
        ELSE [row EXCEPT !.pending = IF left > 0 THEN left ELSE 0,
                         !.state = IF row.state # "blocked" THEN row.state
                                   ELSE IF cancels THEN "cancelled"
                                   ELSE IF left > 0 THEN "blocked" ELSE "ready"]]

\* The witness.
Witnessed(rows) == [j \in Jobs |->
    IF rows[j].state \in Terminal THEN [rows[j] EXCEPT !.ended = @ \cup {rows[j].state}] ELSE rows[j]]

\* What of a change is not in the table; a child changes by verbs of its own.
Misdeeds(verb, rows, after) ==
    IF \A j \in Jobs :
        /\ rows[j].state # job[j].state => <<verb, job[j].state, rows[j].state>> \in Legal
        /\ after[j].state # rows[j].state =>
            \E other \in {"promote", "cancel"} : <<other, rows[j].state, after[j].state>> \in Legal
    THEN {} ELSE {"illegal transition"}

\* The end of every statement that writes jobs.  A trigger resolves the edges to those that it ended, of the children
\* whose rows it could lock: any of them may be held by somebody at that moment.  Of children that are cancelled so,
\* others may wait in turn: the real trigger goes on to them in a loop; here they are left to the sweep.
Store(verb, rows, deeds) ==
    LET ended == {j \in Jobs : rows[j].state \in Terminal /\ job[j].state \notin Terminal}
        open == {e \in Edges : ~edges[e] /\ e[2] \in ended /\ job[e[1]].state # "new"}
    IN  \E reached \in SUBSET {e[1] : e \in open} :
        LET marked == IF EndReleases THEN {e \in open : e[1] \in reached} ELSE {}
        IN  /\ EndReleases \/ reached = {}
            /\ job' = Witnessed(Lowered(rows, marked))
            /\ edges' = [e \in Edges |-> edges[e] \/ e \in marked]
            /\ wrong' = wrong \cup deeds \cup Misdeeds(verb, rows, Lowered(rows, marked))

Put(verb, j, row) == Store(verb, [job EXCEPT ![j] = row], {})

\* A row that nobody leases any more.
Back(row, state) == [row EXCEPT !.state = state, !.owner = None, !.leased = FALSE]
Unless(row, state) == IF row.cancel /\ HeedsCancel THEN "cancelled" ELSE state

\* A run was lost: its attempt is given back, and the loss counted instead.
AfterLoss(row) ==
    LET fails == LossesCount /\ row.lost + 1 >= MaxLost
    IN  [Back(row, Unless(row, IF fails THEN "failed" ELSE "ready")) EXCEPT
            !.attempt = @ - 1, !.lost = @ + (IF LossesCount THEN 1 ELSE 0)]

\* A run is given back free.
AfterRelease(row) ==
    LET fails == ReleasesCount /\ row.releases >= MaxReleases
    IN  [Back(row, Unless(row, IF fails THEN "failed" ELSE "ready")) EXCEPT
            !.attempt = @ - 1, !.releases = @ + (IF ReleasesCount THEN 1 ELSE 0)]

AfterEnd(row, verb) ==
    CASE verb = "succeed" -> Back(row, "succeeded")
      [] verb = "retry" -> [Back(row, Unless(row, "scheduled")) EXCEPT !.attempt = @ - (IF AttemptsCount THEN 0 ELSE 1)]
      [] verb = "snooze" -> [Back(row, Unless(row, "scheduled")) EXCEPT !.attempt = @ - 1]
      [] verb = "fail" -> Back(row, Unless(row, "failed"))
      [] verb = "cancel" -> Back(row, "cancelled")
      [] verb = "release" -> AfterRelease(row)

\* With the Attempt rows of these runs; one that is there already stays.  A set cannot have a second one, so that is a
\* deed of its own.
Recorded(tokens) == attempts \cup tokens
Doubled(tokens) == IF AttemptsAreUnique \/ tokens \cap attempts = {} THEN {} ELSE {"second attempt"}

Spend(what) == budget[what] > 0 /\ budget' = [budget EXCEPT ![what] = @ - 1]

-----------------------------------------------------------------------------
(* Enqueue, and what people do to jobs.                                    *)

\* The jobs needed are older, so there can be no cycle; they may have ended already, which the sweep will see.
Enqueue(j) ==
    /\ job[j].state = "new" /\ \A e \in EdgesOf(j) : job[e[2]].state # "new"
    /\ Put("enqueue", j, Accepted(j))
    /\ UNCHANGED <<ledger, attempts, permits, effects, processes, takeovers, glances, budget, replica>>

Promote(j) ==
    /\ job[j].state = "scheduled"
    /\ Put("promote", j, [job[j] EXCEPT !.state = "ready"])
    /\ UNCHANGED <<ledger, attempts, permits, effects, processes, takeovers, glances, budget, replica>>

\* Of a job that runs it is a request: the end of the run heeds it (rule 12).
Cancel(j) ==
    /\ job[j].state \in Waiting \cup {"running"} /\ ~job[j].cancel /\ ~IsLocked(j)
    /\ Spend("cancel")
    /\ Put("cancel", j, [job[j] EXCEPT !.cancel = TRUE, !.state = IF @ = "running" THEN @ ELSE "cancelled"])
    /\ UNCHANGED <<ledger, attempts, permits, effects, processes, takeovers, glances, replica>>

\* Fresh budgets, but the fence goes on growing, and durable steps stay remembered.  It is ready at once, whatever it
\* needs.
Requeue(j) ==
    /\ job[j].state \in RequeueableStates
    /\ Spend("requeue")
    /\ Put("requeue", j, [job[j] EXCEPT
            !.state = "ready", !.attempt = 0, !.lost = 0, !.releases = 0, !.cancel = FALSE,
            !.version = VersionAfterRequeue(@)])
    /\ UNCHANGED <<ledger, attempts, permits, effects, processes, takeovers, glances, replica>>

\* Edges to it stay, as those of a job that is gone.
Prune(j) ==
    /\ job[j].state \in Terminal
    /\ PruneWaits /\ Edges # {} => \A other \in Jobs : job[other].state \in Terminal \cup {"gone"}
    /\ Spend("prune")
    /\ Put("prune", j, [NewRow EXCEPT !.state = "gone", !.ended = job[j].ended])
    /\ ledger' = {row \in ledger : row[1] # j}
    /\ attempts' = {row \in attempts : row[1] # j}
    /\ UNCHANGED <<permits, effects, processes, takeovers, glances, replica>>

-----------------------------------------------------------------------------
(* Claim.                                                                  *)

NewRun(owner, j, row) == [
    owner |-> owner, job |-> j, version |-> row.version, attempt |-> row.attempt,
    era |-> budget.failover,    \* which history of the database it was claimed in
    phase |-> "working",        \* or "sent", "read", "locked": a statement is under way
    verb |-> "",                \* which: how the run ends, or the step that it records
    seen |-> FALSE,             \* what the snapshot of the statement saw: that the fence lets it pass
    done |-> {}]                \* the steps that it knows to be recorded

Leased(row, owner) == [row EXCEPT
    !.state = "running", !.owner = owner, !.version = NextVersion(@), !.attempt = @ + 1, !.leased = TRUE]

MayClaim(w) == w \notin doubtful \cup strangers /\ Cardinality(RunsOf(w)) < Slots

IsAsking(w) == \E ask \in asks : ask.owner = Me(w) /\ ~ask.deaf

\* Without a cap: one statement, whose reply comes, and which locks the row as soon as it has seen it.
Claim(w, j) ==
    /\ Cap = 0 /\ MayClaim(w) /\ ~IsAsking(w) /\ job[j].state = "ready"
    /\ LET row == Leased(job[j], Me(w))
       IN  Put("claim", j, row) /\ runs' = runs \cup {NewRun(Me(w), j, row)}
    /\ UNCHANGED <<ledger, attempts, permits, effects, asks, incarnation, doubtful, strangers>>
    /\ UNCHANGED <<takeovers, glances, budget, replica>>

\* Or one that locks it later, when another claim may have come first: the state is evaluated again (rule 1).
SeeReady(w, j) ==
    /\ Snapshots /\ Cap = 0 /\ MayClaim(w) /\ job[j].state = "ready" /\ \A ask \in asks : ask.deaf
    /\ asks' = asks \cup {[owner |-> Me(w), saw |-> <<j>>, deaf |-> FALSE]}
    /\ UNCHANGED <<database, runs, incarnation, doubtful, strangers, takeovers, glances, budget, replica, wrong>>
ClaimSeen(ask, j) ==
    /\ Cap = 0 /\ ~ask.deaf /\ ask.saw = <<j>> /\ ~IsLocked(j)
    /\ ClaimRereads => job[j].state = "ready"
    /\ LET row == Leased(job[j], ask.owner)
       IN  /\ Store("claim", [job EXCEPT ![j] = row], IF job[j].state = "ready" THEN {} ELSE {"illegal transition"})
           /\ runs' = runs \cup {NewRun(ask.owner, j, row)}
    /\ asks' = asks \ {ask}
    /\ UNCHANGED <<ledger, attempts, permits, effects, incarnation, doubtful, strangers>>
    /\ UNCHANGED <<takeovers, glances, budget, replica>>

\* With a cap, the first half: the snapshot.  It sees which permits name a run that is over, and how many places are
\* left; it will try only so many, the lowest first.
Free(n) == permits[n] = None \/ job[permits[n][1]].state # "running" \/ job[permits[n][1]].version # permits[n][2]
Running == {j \in Jobs : job[j].state = "running"}
Tried ==
    LET free == {n \in Places : Free(n)}
        room == Cap - Cardinality(Running)
    IN  {n \in free : Cardinality({m \in free : m <= n}) <= room}

Ask(w) ==
    /\ Cap > 0 /\ MayClaim(w) /\ Tried # {} /\ \E j \in Jobs : job[j].state = "ready"
    /\ ~IsAsking(w)
    /\ asks' = asks \cup {[owner |-> Me(w), saw |-> [n \in Tried |-> permits[n]], deaf |-> FALSE]}
    /\ UNCHANGED <<database, runs, incarnation, doubtful, strangers, takeovers, glances, budget, replica, wrong>>

\* The second: it locks the job and a permit, and compares the permit with what it saw.  One that was taken meanwhile
\* names another run by now (rule 11).
MayTake(ask, j, n) ==
    /\ Cap > 0 /\ job[j].state = "ready"
    /\ ClaimsTakePermits /\ PermitIsCompared => permits[n] = ask.saw[n]
Take(ask, j, n) ==
    /\ MayTake(ask, j, n)
    /\ LET row == Leased(job[j], ask.owner)
       IN  /\ Put("claim", j, row)
           /\ permits' = IF ClaimsTakePermits THEN [permits EXCEPT ![n] = <<j, row.version>>] ELSE permits
           /\ runs' = IF ask.deaf THEN runs ELSE runs \cup {NewRun(ask.owner, j, row)}
    /\ asks' = asks \ {ask}
    /\ UNCHANGED <<ledger, attempts, effects, incarnation, doubtful, strangers, takeovers, glances, budget, replica>>

\* Nothing was left to claim, or no permit to claim it with, or somebody had the row locked.
EndAsk(ask) ==
    /\ ~ask.deaf /\ ~\E j \in Jobs, n \in DOMAIN ask.saw : MayTake(ask, j, n)
    /\ asks' = asks \ {ask}
    /\ UNCHANGED <<database, runs, incarnation, doubtful, strangers, takeovers, glances, budget, replica, wrong>>

\* The connection breaks with a claim under way: whether it commits, and when, its worker will not hear.
LoseClaim(w) ==
    /\ MayClaim(w) /\ ~\E ask \in asks : ask.owner = Me(w) /\ ask.deaf
    /\ Spend("loss")
    /\ LET mine == {ask \in asks : ask.owner = Me(w)}
           lost == IF Cap = 0 THEN {[owner |-> Me(w), saw |-> None, deaf |-> TRUE]}
                              ELSE {[ask EXCEPT !.deaf = TRUE] : ask \in mine}
       IN  lost # {} /\ asks' = (asks \ mine) \cup lost
    /\ doubtful' = doubtful \cup {w}
    /\ UNCHANGED <<database, runs, incarnation, strangers, takeovers, glances, replica, wrong>>

\* Such a claim arrives, of a process that does not listen, or is dead: it even may have been rescued already.
ClaimForNobody(ask, j) ==
    /\ Cap = 0 /\ ask.deaf /\ job[j].state = "ready"
    /\ Put("claim", j, Leased(job[j], ask.owner))
    /\ asks' = asks \ {ask}
    /\ UNCHANGED <<ledger, attempts, permits, effects, runs, incarnation, doubtful, strangers>>
    /\ UNCHANGED <<takeovers, glances, budget, replica>>

\* After the reconnect: what I own and do not know is given back free (rule 4).
GiveBackUnknown(w) ==
    /\ w \in doubtful \ strangers
    /\ LET known == {Token(run) : run \in RunsOf(w)}
           held == IF GivesBackUnknown
                   THEN {j \in Jobs : /\ job[j].state = "running" /\ job[j].owner = Me(w) /\ ~IsLocked(j)
                                      /\ <<j, job[j].version>> \notin known}
                   ELSE {}
       IN  /\ Store("release", [j \in Jobs |-> IF j \in held THEN AfterRelease(job[j]) ELSE job[j]],
                    Doubled({<<j, job[j].version>> : j \in held}))
           /\ attempts' = Recorded({<<j, job[j].version>> : j \in held})
    /\ doubtful' = doubtful \ {w}
    /\ UNCHANGED <<ledger, permits, effects, runs, asks, incarnation, strangers, takeovers, glances, budget, replica>>

-----------------------------------------------------------------------------
(* Renew.  The heartbeat has a connection of its own; a locked row is left *)
(* out.                                                                    *)

\* Whether a run is the one that the row names.  No guard, but the truth that the guards are held against.
Holds(row, run) == row.state = "running" /\ row.owner = run.owner /\ row.version = run.version
Intrusion(run, j) == IF j = run.job /\ Holds(job[j], run) THEN {} ELSE {"intruder"}

Renew(run, j) ==
    /\ IsAlive(run.owner) /\ RenewalReaches(job[j], j, run)
    /\ ~job[j].leased /\ ~IsLocked(j)
    /\ Store("renew", [job EXCEPT ![j].leased = TRUE], Intrusion(run, j))
    /\ UNCHANGED <<ledger, attempts, permits, effects, processes, takeovers, glances, budget, replica>>

-----------------------------------------------------------------------------
(* Run, outcome, steps.  What a handler does is invisible until it sends a *)
(* statement: its end, or a durable step to be recorded.  The statement is *)
(* fenced, and answers won, won before, busy or lost (rule 2).             *)

Row(run) == job[run.job]
IsAtWork(run) == run.phase = "working"

\* What a handler's end may mean; it is decided without the database.  Steps come first.
Ends(run) == {verb \in Verbs :
    /\ verb = "succeed" => Steps \subseteq run.done
    /\ verb = "retry" => run.attempt < MaxAttempts
    /\ verb = "snooze" => budget.snooze > 0}
    \cup (IF "retry" \in Verbs /\ run.attempt >= MaxAttempts THEN {"fail"} ELSE {})

\* The statements that a run may send: one that was sent and not answered is sent again.
Statements(run) ==
    IF ~IsAtWork(run) THEN {run.verb}
    ELSE (IF run.job \in Killers THEN {} ELSE Ends(run)) \cup (Steps \ run.done)

\* Before it has seen that the history is another one, a process may still send what handlers commit themselves: the
\* pump, which writes all else, looks first.
MaySend(run, verb) ==
    IsAlive(run.owner) => (run.owner[1] \in strangers => verb \in {"succeed"} \cup Steps)

Change(run, after) == runs' = (runs \ {run}) \cup {after}
Sent(run, verb) == [run EXCEPT !.phase = "sent", !.verb = verb, !.seen = FALSE]

\* First half of a statement, with snapshots: what its snapshot sees.
Read(run, verb) ==
    /\ Snapshots /\ run.phase \in {"working", "sent"} /\ MaySend(run, verb)
    /\ Change(run, [run EXCEPT !.phase = "read", !.verb = verb, !.seen = Fence(Row(run), run)])
    /\ UNCHANGED <<database, asks, incarnation, doubtful, strangers, takeovers, glances, budget, replica, wrong>>

\* An atomic handler's success, in its own transaction: its row is locked until that ends.
Lock(run) ==
    /\ Transactions /\ run.phase \in {"working", "sent"} /\ "succeed" \in Statements(run) /\ MaySend(run, "succeed")
    /\ Fence(Row(run), run) /\ ~IsLocked(run.job)
    /\ Change(run, [run EXCEPT !.phase = "locked", !.verb = "succeed"])
    /\ UNCHANGED <<database, asks, incarnation, doubtful, strangers, takeovers, glances, budget, replica, wrong>>

\* The transaction does not commit: its session was ended, by a timeout or by who rescues its owner (rule 7).  To the
\* handler that is an error like others, and is charged: else it could go on so for ever.
Abort(run) ==
    /\ run.phase = "locked"
    /\ IF IsAlive(run.owner) THEN Change(run, Sent(run, IF run.attempt < MaxAttempts THEN "retry" ELSE "fail"))
                             ELSE runs' = runs \ {run}
    /\ UNCHANGED <<database, asks, incarnation, doubtful, strangers, takeovers, glances, budget, replica, wrong>>

\* The server is about to lock the row and write.
IsDue(run, verb) ==
    /\ run.phase \in {"read", "locked"} \/ ~Snapshots
    /\ MaySend(run, verb)

\* What the statement was sent for, where the guard is evaluated.
Passes(run) ==
    CASE run.phase = "locked" -> TRUE
      [] run.phase = "read" -> run.seen /\ (FenceIsReread => Fence(Row(run), run))
      [] OTHER -> Fence(Row(run), run)

Step(verb) == IF verb \in Steps THEN verb ELSE Success
InLedger(j, step) == \E row \in ledger : row[1] = j /\ row[2] = step
IsUnrecorded(run, verb) ==
    IF verb \in Steps \cup {"succeed"} THEN LedgerIsUnique => ~InLedger(run.job, Step(verb))
                                       ELSE AttemptsAreUnique => Token(run) \notin attempts

Wins(run, verb) ==
    /\ Passes(run) /\ IsUnrecorded(run, verb)
    /\ run.phase = "locked" \/ ~IsLocked(run.job)

\* Row, ledger or attempt, effect and dependants: one commit.
Write(run, verb) ==
    /\ Store(verb,
             IF verb \in Steps THEN job ELSE [job EXCEPT ![run.job] = AfterEnd(@, verb)],
             Intrusion(run, run.job) \cup (IF verb \in Steps \cup {"succeed"} THEN {} ELSE Doubled({Token(run)})))
    /\ IF verb \in Steps \cup {"succeed"}
       THEN /\ ledger' = ledger \cup {<<run.job, Step(verb), run.version>>}
            /\ effects' = IF verb = "succeed" /\ ~EffectIsInTransaction THEN effects
                          ELSE [effects EXCEPT ![run.job][Step(verb)] = WithEffect(@)]
            /\ UNCHANGED attempts
       ELSE /\ attempts' = Recorded({Token(run)})
            /\ UNCHANGED <<ledger, effects>>

\* What the process has of the run once it is told what became of its statement.
Told(run, verb) ==
    IF verb \in Steps /\ IsAlive(run.owner)
    THEN {[run EXCEPT !.phase = "working", !.verb = "", !.seen = FALSE, !.done = @ \cup {verb}]}
    ELSE {}

\* And where the reply was lost.  A success whose commit was not answered may look like a failure to it.
Untold(run, verb) == {Sent(run, again) :
    again \in {verb} \cup (IF verb = "succeed" THEN {"retry"} \cap Verbs ELSE {})}

Commit(run, verb) ==
    /\ IsDue(run, verb) /\ Wins(run, verb)
    /\ Write(run, verb)
    /\ \/ /\ runs' = (runs \ {run}) \cup Told(run, verb)
          /\ IF verb = "snooze" /\ IsAtWork(run) THEN Spend("snooze") ELSE UNCHANGED budget
       \/ /\ IsAlive(run.owner) /\ Spend("loss")
          /\ \E again \in Untold(run, verb) : Change(run, again)
    /\ UNCHANGED <<permits, asks, incarnation, doubtful, strangers, takeovers, glances, replica>>

\* Not won.  Busy: it was mine in the snapshot, or somebody has the row locked, so it is sent again.  Won before, for a
\* step: the ledger has it and the run goes on.  All else (won before, or lost) is the end of the run here.
IsBusy(run) == (run.phase = "read" /\ run.seen /\ ~Passes(run)) \/ (Passes(run) /\ IsLocked(run.job))
Refuse(run, verb) ==
    /\ IsDue(run, verb) /\ ~Wins(run, verb)
    /\ runs' = (runs \ {run}) \cup
            (IF IsBusy(run) THEN (IF IsAlive(run.owner) THEN {Sent(run, verb)} ELSE {})
             ELSE IF Fence(Row(run), run) THEN Told(run, verb)
             ELSE {})
    /\ runs' # runs
    /\ UNCHANGED <<database, asks, incarnation, doubtful, strangers, takeovers, glances, budget, replica, wrong>>

\* Of a mutant: the effect commits by itself, before the outcome is sent.
ActOutside(run) ==
    /\ ~EffectIsInTransaction /\ IsAtWork(run) /\ IsAlive(run.owner) /\ "succeed" \in Statements(run)
    /\ Change(run, Sent(run, "succeed"))
    /\ effects' = [effects EXCEPT ![run.job][Success] = @ + 1]
    /\ UNCHANGED <<job, ledger, attempts, edges, permits, asks, incarnation, doubtful, strangers>>
    /\ UNCHANGED <<takeovers, glances, budget, replica, wrong>>

-----------------------------------------------------------------------------
(* Death and rescue.                                                       *)

\* An owner's id is never given twice: the first number that nothing in the world mentions any more.
Named(owner) ==
    \/ owner \in {job[j].owner : j \in Jobs} \cup {run.owner : run \in runs}
    \/ owner \in {ask.owner : ask \in asks} \cup {t.owner : t \in takeovers}
    \/ replica # None /\ \E j \in Jobs : replica.job[j].owner = owner
NextLife(w) ==
    LET free == {n \in 1..100 : n # incarnation[w] /\ ~Named(<<w, n>>)}
    IN  CHOOSE n \in free : \A m \in free : n <= m

\* What an owner holds.
Rescuable(owner) == {j \in Jobs : job[j].state = "running" /\ job[j].owner = owner}

\* A process dies, and another is started in its place; `left` are statements of its that the server still has.  Its
\* supervisor knows what had started, by the memory that they share.  A run that has not started differs from one that
\* has in nothing else, so it is said only here which were: any, but those that have sent something.  The death of a
\* whole tree is the same without the takeover: nobody renews its leases.
Die(w, left, asking) ==
    /\ runs' = (runs \ RunsOf(w)) \cup left
    /\ asks' = {[ask EXCEPT !.deaf = @ \/ ask.owner = Me(w)] : ask \in asks} \cup asking
    /\ incarnation' = [incarnation EXCEPT ![w] = NextLife(w)]
    /\ doubtful' = doubtful \ {w}
    /\ strangers' = strangers \ {w}
    /\ LET certainly == {run \in RunsOf(w) : ~IsAtWork(run) \/ run.done # {} \/ run.job \in Killers}
           perhaps == RunsOf(w) \ (certainly \cup left)
       IN  IF ~SupervisorRescues \/ (Rescuable(Me(w)) = {} /\ asks' = {}) THEN UNCHANGED takeovers
           ELSE \E more \in SUBSET {Token(run) : run \in perhaps} :
                takeovers' = takeovers \cup {[owner |-> Me(w),
                    started |-> more \cup {Token(run) : run \in certainly} \cup {Token(run) : run \in left}]}

Abandoned(w) == UNION {
    IF IsAtWork(run) THEN {Sent(run, verb) : verb \in Statements(run)} ELSE {run} : run \in RunsOf(w)}
Crash(w) ==
    /\ \/ Spend("crash")
       \/ (\E run \in RunsOf(w) : IsAtWork(run) /\ run.job \in Killers) /\ UNCHANGED budget
    /\ \E left \in SUBSET Abandoned(w),
          asking \in SUBSET (IF Cap = 0 /\ MayClaim(w) THEN {[owner |-> Me(w), saw |-> None, deaf |-> TRUE]} ELSE {}) :
            /\ \A a, b \in left : Token(a) = Token(b) => a = b
            /\ Die(w, left, asking)
    /\ UNCHANGED <<database, glances, replica, wrong>>

\* By owner: what had not started is given back free.  The supervisor comes again as long as somebody keeps a row
\* locked; a claim that arrives after it lapses by its lease.
RescueOwner(t) ==
    LET held == {j \in Rescuable(t.owner) : ~IsLocked(j)}
        lost == {j \in held : <<j, job[j].version>> \in t.started}
    IN  /\ held # {} \/ Rescuable(t.owner) = {}
        /\ Store("rescue", [j \in Jobs |-> IF j \in lost THEN AfterLoss(job[j])
                                           ELSE IF j \in held THEN AfterRelease(job[j]) ELSE job[j]],
                 Doubled({<<j, job[j].version>> : j \in held}))
        /\ attempts' = Recorded({<<j, job[j].version>> : j \in held})
        /\ takeovers' = IF held = Rescuable(t.owner) THEN takeovers \ {t} ELSE takeovers
        /\ UNCHANGED <<ledger, permits, effects, processes, glances, budget, replica>>

\* A lease that nobody renews lapses.  One that somebody does lapses only if its process is frozen for that long; and
\* a row that is locked cannot be renewed.
IsRenewed(j) == ~IsLocked(j) /\ \E run \in runs : IsAlive(run.owner) /\ RenewalReaches(job[j], j, run)
Lapse(j) ==
    /\ job[j].state = "running" /\ job[j].leased
    /\ IF IsRenewed(j) THEN Spend("lapse") ELSE UNCHANGED budget
    /\ job' = [job EXCEPT ![j].leased = FALSE]
    /\ UNCHANGED <<ledger, attempts, edges, permits, effects, processes, takeovers, glances, replica, wrong>>

\* By lease, any scheduler: the lapse is seen by a snapshot, and seen again under the lock.  Another scheduler may have
\* read the same, and act later.
HasLapsed(j) == job[j].state = "running" /\ ~job[j].leased
SeeLapsed(j) ==
    /\ Snapshots /\ HasLapsed(j) /\ glances = {}
    /\ glances' = {<<"rescue", j>>}
    /\ UNCHANGED <<database, processes, takeovers, budget, replica, wrong>>
Rescue(j) ==
    /\ IF Snapshots THEN <<"rescue", j>> \in glances ELSE HasLapsed(j)
    /\ LET again == ~IsLocked(j) /\ (RescueRereads => HasLapsed(j))
       IN  /\ again \/ Snapshots
           /\ IF again
              THEN /\ Store("rescue", [job EXCEPT ![j] = AfterLoss(@)], Doubled({<<j, job[j].version>>}))
                   /\ attempts' = Recorded({<<j, job[j].version>>})
              ELSE UNCHANGED <<job, edges, wrong, attempts>>
    /\ glances' \in {{}, glances}
    /\ UNCHANGED <<ledger, permits, effects, processes, takeovers, budget, replica>>

-----------------------------------------------------------------------------
(* The sweep: edges to jobs that have ended, which their end could not     *)
(* resolve.  It reads which they are, locks the child, and looks again.    *)

Late(c) == {e \in EdgesOf(c) : ~edges[e] /\ job[e[2]].state \in Terminal \cup {"gone"}}
SeeLate(c) ==
    /\ Snapshots /\ Sweeps /\ glances = {} /\ job[c].state # "new" /\ Late(c) # {}
    /\ glances' = {<<"sweep", c, Late(c)>>}
    /\ UNCHANGED <<database, processes, takeovers, budget, replica, wrong>>

Resolve(c, marked) ==
    LET after == Lowered(job, marked)
        deeds == IF marked = {} \/ after[c].state = job[c].state
                    \/ \E verb \in {"promote", "cancel"} : <<verb, job[c].state, after[c].state>> \in Legal
                 THEN {} ELSE {"illegal transition"}
    IN  /\ job' = Witnessed(after)
        /\ edges' = [e \in Edges |-> edges[e] \/ e \in marked]
        /\ wrong' = wrong \cup deeds

Sweep(c) ==
    /\ Sweeps /\ job[c].state # "new"
    /\ IF Snapshots
       THEN \E glance \in glances :
            /\ glance[1] = "sweep" /\ glance[2] = c
            /\ Resolve(c, IF SweepRereads THEN glance[3] \cap Late(c) ELSE glance[3])
       ELSE Late(c) # {} /\ Resolve(c, Late(c))
    /\ glances' \in {{}, glances}
    /\ UNCHANGED <<ledger, attempts, permits, effects, processes, takeovers, budget, replica>>

-----------------------------------------------------------------------------
(* Failover: the standby takes over with a history that lacks the latest   *)
(* commits.  Every connection is gone.  The first thing that a worker's    *)
(* pump asks on a new one is the timeline: where it is another one, the    *)
(* process ends, and its successor has another owner id.  Until then its   *)
(* handlers may still send what they commit themselves.                    *)

Replicate ==
    /\ budget.failover > 0 /\ replica = None
    /\ replica' = [job |-> job, ledger |-> ledger, attempts |-> attempts, edges |-> edges, permits |-> permits,
                   effects |-> effects]
    /\ UNCHANGED <<database, processes, takeovers, glances, budget, wrong>>

FailOver ==
    /\ replica # None
    /\ Spend("failover")
    /\ job' = replica.job /\ ledger' = replica.ledger /\ attempts' = replica.attempts /\ edges' = replica.edges
    /\ permits' = replica.permits /\ effects' = replica.effects
    /\ runs' = {IF run.phase \in {"read", "locked"} THEN Sent(run, run.verb) ELSE run :
                run \in {r \in runs : IsAlive(r.owner)}}
    /\ asks' = {} /\ glances' = {} /\ replica' = None
    /\ strangers' = Workers
    /\ UNCHANGED <<incarnation, doubtful, takeovers, wrong>>

NoticeFailover(w) ==
    /\ w \in strangers
    /\ IF LeavesAfterFailover THEN Die(w, {}, {})
       ELSE /\ strangers' = strangers \ {w}
            /\ UNCHANGED <<runs, asks, incarnation, doubtful, takeovers>>
    /\ UNCHANGED <<database, glances, budget, replica, wrong>>

-----------------------------------------------------------------------------

Init ==
    /\ job = [j \in Jobs |-> IF AtOnce THEN Accepted(j) ELSE NewRow]
    /\ ledger = {} /\ attempts = {} /\ runs = {} /\ asks = {} /\ takeovers = {} /\ glances = {}
    /\ edges = [e \in Edges |-> FALSE]
    /\ permits = [n \in Places |-> None]
    /\ incarnation = [w \in Workers |-> 1]
    /\ doubtful = {} /\ strangers = {} /\ replica = None /\ wrong = {}
    /\ effects = [j \in Jobs |-> [step \in Steps \cup {Success} |-> 0]]
    /\ budget = [crash |-> Crashes, lapse |-> Lapses, loss |-> Losses, snooze |-> Snoozes, cancel |-> Cancels,
                 requeue |-> Requeues, prune |-> Prunes, failover |-> Failovers]

HasEnded(j) == job[j].state \in Terminal \cup {"gone"}
\* Nothing has to happen any more.
Over == (\A j \in Jobs : HasEnded(j)) /\ UNCHANGED vars

OfJob(j) ==
    \/ Enqueue(j) \/ Promote(j) \/ Cancel(j) \/ Requeue(j) \/ Prune(j)
    \/ Lapse(j) \/ SeeLapsed(j) \/ Rescue(j) \/ SeeLate(j) \/ Sweep(j)
OfWorker(w) ==
    \/ \E j \in Jobs : Claim(w, j) \/ SeeReady(w, j)
    \/ Ask(w) \/ LoseClaim(w) \/ GiveBackUnknown(w) \/ Crash(w) \/ NoticeFailover(w)
OfRun(run) ==
    \/ Lock(run) \/ Abort(run) \/ ActOutside(run)
    \/ \E verb \in Statements(run) : Read(run, verb) \/ Commit(run, verb) \/ Refuse(run, verb)
    \/ \E j \in Jobs : Renew(run, j)
OfAsk(ask) ==
    \/ EndAsk(ask)
    \/ \E j \in Jobs : ClaimSeen(ask, j) \/ ClaimForNobody(ask, j) \/ (\E n \in DOMAIN ask.saw : Take(ask, j, n))

Next ==
    \/ \E j \in Jobs : OfJob(j)
    \/ \E w \in Workers : OfWorker(w)
    \/ \E run \in runs : OfRun(run)
    \/ \E ask \in asks : OfAsk(ask)
    \/ \E t \in takeovers : RescueOwner(t)
    \/ Replicate \/ FailOver \/ Over

\* What is not put off for ever: schedulers look, processes that live go on, a server answers or ends a session.
\* Nothing is assumed of crashes, lapses and losses.
Fairness ==
    /\ \A j \in Jobs :
        /\ WF_vars(Promote(j)) /\ WF_vars(Sweep(j)) /\ WF_vars(Rescue(j))
        /\ WF_vars(~IsRenewed(j) /\ Lapse(j))
        /\ WF_vars(\E w \in Workers : Claim(w, j))
        /\ WF_vars(\E ask \in asks : \E n \in DOMAIN ask.saw : Take(ask, j, n))
    /\ \A w \in Workers :
        /\ WF_vars(GiveBackUnknown(w)) /\ WF_vars(NoticeFailover(w)) /\ WF_vars(Ask(w))
        /\ WF_vars(\E run \in RunsOf(w) : run.job \in Killers /\ Crash(w))
        /\ WF_vars(\E t \in takeovers : t.owner[1] = w /\ RescueOwner(t))
        /\ \A j \in Jobs :
            LET Of(run) == run.owner[1] = w /\ run.job = j
            IN  WF_vars(\E run \in runs : Of(run) /\
                    \/ Lock(run) \/ Abort(run)
                    \/ \E verb \in Statements(run) : Read(run, verb) \/ Commit(run, verb) \/ Refuse(run, verb))

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* What must hold.                                                         *)

TypeOK ==
    /\ \A j \in Jobs :
        LET row == job[j]
        IN  /\ row.state \in States \cup {"new", "gone"} /\ row.leased \in BOOLEAN /\ row.cancel \in BOOLEAN
            /\ row.owner = None \/ row.owner[1] \in Workers
            /\ {row.version, row.attempt, row.lost, row.releases, row.pending} \subseteq Nat
            /\ row.ended \subseteq Terminal /\ (row.state \in Terminal => row.state \in row.ended)
    /\ \A row \in ledger : row[1] \in Jobs /\ row[2] \in Steps \cup {Success} /\ row[3] \in Nat
    /\ \A row \in attempts : row[1] \in Jobs /\ row[2] \in Nat
    /\ \A run \in runs : run.phase \in {"working", "sent", "read", "locked"}

\* P2: no step of a job, its success among them, commits its effect twice.
AtMostOneEffect == \A j \in Jobs : \A step \in Steps \cup {Success} : effects[j][step] <= 1

\* And none is recorded without its effect, nor has one that is not recorded.
EffectsAreTrue == \A j \in Jobs : job[j].state # "gone" =>
    \A step \in Steps \cup {Success} : effects[j][step] = Cardinality({row \in ledger : row[1] = j /\ row[2] = step})

\* The ledger says what has committed: one row for each, and one of success where the job has succeeded.
LedgerIsTrue ==
    /\ \A a, b \in ledger : a[1] = b[1] /\ a[2] = b[2] => a = b
    /\ \A j \in Jobs : (job[j].state = "succeeded") <=> (\E row \in ledger : row[1] = j /\ row[2] = Success)

RunningHasOwner == \A j \in Jobs : (job[j].state = "running") <=> (job[j].owner # None)
OnlyHolderWrites == "intruder" \notin wrong
OneAttemptPerRun == "second attempt" \notin wrong
TransitionsAreLegal == "illegal transition" \notin wrong
TokensAreUnique == \A a, b \in runs : a.owner = b.owner /\ Token(a) = Token(b) => a = b

CapHolds == Cap > 0 => Cardinality(Running) <= Cap

\* A job goes on only once those that it needs have ended, and well, unless it was to ignore that; that these may run
\* again by now does not matter.  Whoever requeues a job has it run whatever it needs.
WasRequeued(j) == job[j].ended \ {job[j].state} # {}
NoneStartsEarly == \A e \in Edges :
    job[e[1]].state \in {"scheduled", "ready", "running", "succeeded", "failed"} /\ ~WasRequeued(e[1]) =>
        IF e[3] = "ignore" THEN job[e[2]].ended # {} ELSE "succeeded" \in job[e[2]].ended
\* Nor is one cancelled, but by somebody, or by itself, or since one that it needs has ended badly.
NoneIsCancelledForNothing == \A j \in Jobs :
    job[j].state = "cancelled" /\ ~job[j].cancel /\ "cancel" \notin Verbs =>
        \E e \in EdgesOf(j) : e[3] = "cancel" /\ job[e[2]].ended \ {"succeeded"} # {}
PendingIsTrue == \A j \in Jobs :
    job[j].state = "blocked" => job[j].pending = Cardinality({e \in EdgesOf(j) : ~edges[e]})

\* A job that was cancelled does not wait for another run.
CancelIsHeeded == \A j \in Jobs : job[j].cancel => job[j].state \notin Waiting

\* No run without a charge: a job ends because each of its runs uses up one of its budgets.
BudgetsHold == \A j \in Jobs :
    /\ job[j].attempt <= MaxAttempts /\ job[j].lost <= MaxLost /\ job[j].releases <= MaxReleases + 1
    /\ job[j].version <= (Requeues + 1) * (MaxAttempts + MaxLost + MaxReleases + 1 + Snoozes)

\* Of steps, all but a failover: that takes the database back, and with it all that these two speak of.
NoFailover == budget'.failover = budget.failover
Spent(what) == budget'[what] < budget[what]
FenceGrows == [][NoFailover => \A j \in Jobs : job'[j].state # "gone" =>
    /\ job'[j].version >= job[j].version
    /\ job'[j].state = "running" /\ job[j].state # "running" => job'[j].version > job[j].version]_vars
EndedStaysEnded == [][NoFailover => \A j \in Jobs : job[j].state \in Terminal =>
    \/ job'[j].state = job[j].state
    \/ Spent("prune") /\ job'[j].state = "gone"
    \/ Spent("requeue") /\ job[j].state # "succeeded" /\ job'[j].state = "ready"]_vars

\* P1: every accepted job ends, however often its runs are lost.
EveryJobEnds == \A j \in Jobs : (job[j].state # "new") ~> HasEnded(j)
NoneIsBlockedForEver == \A j \in Jobs : (job[j].state = "blocked") ~> (job[j].state # "blocked")

-----------------------------------------------------------------------------
(* For the configurations.                                                 *)

Interchangeable == Permutations(Jobs) \cup Permutations(Workers)
WorkersInterchangeable == Permutations(Workers)

NoEdges == {}
Join == {<<3, 1, "cancel">>, <<3, 2, "ignore">>}
Chain == {<<2, 1, "cancel">>, <<3, 2, "cancel">>}
Join2 == {<<3, 1, "ignore">>, <<3, 2, "ignore">>}
Join3 == {<<4, 1, "ignore">>, <<4, 2, "ignore">>, <<4, 3, "ignore">>}
=============================================================================
