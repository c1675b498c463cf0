-- Works with 1.0.0 and newer releases.
-- Certificates of clients (RFC 8705). A release before this one authenticates no client by them, and refuses tokens that are bound to one.

-- `certificate_name`: the subject or the alternative name of the client's certificates, as `subject:CN=till-1` or `dns:till-1.example`.
-- `certificate_required`: the client gets, and may use, only tokens that are bound to a certificate.
alter table gateway.clients add column certificate_name text;
alter table gateway.clients add column certificate_required boolean not null default false;

-- `thumbprint`: SHA-256 of the DER form as base64url. `expires`: the end of the certificate, or an earlier one that the operator chose.
-- Null: the certificate was registered by its thumbprint alone; its own end counts all the same when it is presented.
create table gateway.client_certificates (
  client_id text not null references gateway.clients,
  thumbprint text not null check (thumbprint ~ '^[A-Za-z0-9_-]{43}$'),
  subject text not null,
  created timestamptz not null,
  expires timestamptz,
  revoked_at timestamptz,
  primary key (client_id, thumbprint)
);
