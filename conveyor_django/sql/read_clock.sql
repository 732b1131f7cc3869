-- The database's time, by which everything that is shown together is reckoned.
SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
