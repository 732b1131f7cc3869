-- Indexes of Conveyor's tables that no statement may use: what a failed CREATE or REINDEX INDEX CONCURRENTLY leaves.
SELECT class.relname, index.indrelid::regclass::text
FROM pg_index AS index
JOIN pg_class AS class ON class.oid = index.indexrelid
JOIN pg_class AS owner ON owner.oid = index.indrelid
WHERE starts_with(owner.relname, 'conveyor_') AND NOT (index.indisvalid AND index.indisready)
ORDER BY class.relname
