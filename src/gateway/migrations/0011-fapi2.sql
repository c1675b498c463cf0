-- Works with 1.0.0 and newer releases.
-- Clients that are held to the FAPI 2.0 Security Profile. A release before this one neither reads nor writes the column, and goes
-- on accepting secrets and unbound tokens of such a client.
alter table gateway.clients add column fapi2_required boolean not null default false;
