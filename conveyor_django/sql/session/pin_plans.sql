-- Plan what is prepared from here to the end of the transaction once, by index and nested loop, whatever the statistics.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
       set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)
