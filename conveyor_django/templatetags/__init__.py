"""What the admin's templates call."""
