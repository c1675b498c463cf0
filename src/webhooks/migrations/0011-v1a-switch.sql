-- Works with 1.0.0 and newer releases.
-- Deliveries have the Ed25519 signature `v1a` in webhook-signature. Releases before send it in any case.
alter table webhooks.endpoints add column v1a boolean not null default true;
