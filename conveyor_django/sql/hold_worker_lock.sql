-- Take the session lock that says "this incarnation lives".
SELECT pg_try_advisory_lock(hashtextextended(%(incarnation)s::text, 0))
