-- Have the server end the transaction and each of its statements after `bound`, where no tighter bound is set.
-- PostgreSQL 17 is the first release that bounds a whole transaction.
SELECT CASE WHEN current_setting('statement_timeout')::interval NOT BETWEEN '1 ms' AND %(bound)s::text::interval
            THEN set_config('statement_timeout', %(bound)s::text, true) END,
       CASE WHEN current_setting('server_version_num')::integer >= 170000
            THEN set_config('transaction_timeout', %(bound)s::text, true) END
