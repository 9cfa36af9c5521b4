// Migrations.
