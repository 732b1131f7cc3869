-- The one clock (promise P5): the database's time.
SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
