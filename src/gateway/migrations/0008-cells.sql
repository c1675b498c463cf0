-- Works with 1.0.0 and newer releases.
-- The directory of cells: which upstream of a group has the rows of a tenant. Null: the cell `default`. A release before this one
-- neither reads nor writes the column, and forwards every tenant to one upstream.
alter table gateway.tenants add column cell text check (cell ~ '^[a-z][a-z0-9-]{0,31}$' and cell <> 'default');
