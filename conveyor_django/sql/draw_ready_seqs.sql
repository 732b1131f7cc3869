-- Draw places in line for jobs that several statements will insert, so that they run in the order given.
SELECT array_agg(nextval('conveyor_ready_seq')) FROM generate_series(1, %(count)s::integer)
