"""A small Django project for the queues of Django: Conveyor, django-tasks-db and django-ox."""
