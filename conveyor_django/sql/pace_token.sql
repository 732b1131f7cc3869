-- Charge a token for one request, or answer in how many seconds there is room for it. The generic cell rate algorithm
-- (ITU-T I.371): `paid_until` is where the requests so far end if they come evenly; it may run ahead by `seconds`.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
-- Locked first, so that of many requests at once each sees what the one before it was charged.
token AS MATERIALIZED (
    SELECT held.id, held.paid_until FROM conveyor_apitoken AS held
    WHERE held.id = %(id)s::bigint
    FOR NO KEY UPDATE
),
charge AS MATERIALIZED (
    SELECT token.id,
           greatest(token.paid_until, clock.now)
               + make_interval(secs => %(seconds)s::float8 / %(requests)s::integer) AS paid_until,
           clock.now + make_interval(secs => %(seconds)s::float8) AS most
    FROM token CROSS JOIN clock
),
charged AS (
    UPDATE conveyor_apitoken AS target
    SET paid_until = charge.paid_until
    FROM charge
    WHERE target.id = charge.id AND charge.paid_until <= charge.most
)
SELECT greatest(extract(epoch FROM charge.paid_until - charge.most), 0)::float8 AS wait FROM charge
