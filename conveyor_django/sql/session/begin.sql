-- Begin a transaction in which a statement that has waited for a lock sees what was committed meanwhile.
BEGIN ISOLATION LEVEL READ COMMITTED
