/** Client authentication of the three OAuth POST endpoints, with one refusal for every problem. */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '#src/platform/clock.ts';
import type { ClientCertificate } from '#src/platform/http/tls/client-certificate.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { CredentialCache } from '../credentials/lookup/cache.ts';
import { type ClientRecord, provesClient } from '../credentials/lookup/records.ts';
import { clientKeyName } from '../credentials/show/show-credentials.ts';
import { retrySeconds } from '../credentials/trust/issuer-keys.ts';
import { isOfIssuer, type VerifyWorkload, type WorkloadFacts } from '../credentials/trust/verify-workload.ts';
import type { RulesOf } from '../dpop/profile.ts';
import type { CheckAddress } from '../limits/check-address.ts';
import type { SourceOf } from '../limits/source-address.ts';
import { quarantineText } from '../model/faults.ts';
import { type CertificateProofDeps, isOfClient } from './bind-token.ts';
import {
  addressRefused,
  invalidClient,
  issuerAway,
  NoClientAuthentication,
  OAuthRefusal,
  wrongClaim,
} from './oauth-answers.ts';
import type { ClientProof } from './read-client-proof.ts';
import { type BeforeUse, clientOfAssertion, type VerifyAssertionDeps, verifyAssertion } from './verify-assertion.ts';

export type AuthenticateClientDeps = CertificateProofDeps & {
  box: Pick<SecretBox, 'digest'>;
  clock: Clock;
  credentials: Pick<CredentialCache, 'findClient'>;
  assertions: VerifyAssertionDeps;
  verifyWorkload: VerifyWorkload;
  sourceOf: SourceOf;
  checkAddress: CheckAddress;
  rulesOf: RulesOf;
  /** Called for each proven credential, with the address of the peer. */
  recordUse: (credentialId: string, address: string | undefined) => void;
};

/**
 * Rejects with invalid_client, or unauthorized_client: for a quarantined client or secret, and for a call from an address outside
 * the client's list. `identified` is called before such a refusal, and before every success. Rejects with what `beforeUse` throws.
 */
export type AuthenticateClient = (
  req: IncomingMessage,
  proof: ClientProof,
  identified: (client: IdentifiedClient) => void,
  beforeUse: BeforeUse,
) => Promise<ProvenClient>;

/** What the audit names of a client whose request may still be refused. */
export type IdentifiedClient = { clientId: string; credentialId: string; tenants: readonly string[] };

export type ProvenClient = {
  client: ClientRecord;
  /** Id of the secret or key. */
  credentialId: string;
  /** The presented value, for its fingerprint; an assertion is used once and needs none. */
  secret: string | undefined;
  /** The one by which it proved itself. */
  certificate?: ClientCertificate | undefined;
  /** Of a workload that proved itself by a trusted issuer (interface 28). */
  workload?: WorkloadFacts | undefined;
};

type Proven = {
  record: ClientRecord;
  credentialId: string;
  quarantine: string | undefined;
  workload?: WorkloadFacts;
};

export const createAuthenticateClient = (deps: AuthenticateClientDeps): AuthenticateClient => {
  const prove = (req: IncomingMessage, proof: ClientProof, beforeUse: BeforeUse): Promise<Proven | undefined> => {
    if (proof.method === 'certificate') return proveByCertificate(deps, req, proof);
    return proof.method === 'secret' ? proveBySecret(deps, req, proof) : proveByAssertion(deps, req, proof, beforeUse);
  };
  return async (req, proof, identified, beforeUse) => {
    const proven = await prove(req, proof, beforeUse);
    if (proven === undefined) throw invalidClient();
    const { clientId: id, allowIp, tenants } = proven.record;
    identified({ clientId: id, credentialId: proven.credentialId, tenants });
    const elsewhere = deps.checkAddress({ id, allowIp: allowIp ?? undefined }, req);
    if (elsewhere !== undefined) throw addressRefused(elsewhere);
    deps.recordUse(proven.credentialId, req.socket.remoteAddress);
    if (proven.quarantine !== undefined) throw new OAuthRefusal('unauthorized_client', 400, proven.quarantine);
    const secret = proof.method === 'secret' ? proof.secret : undefined;
    const certificate = proof.method === 'certificate' ? proof.certificate : undefined;
    const { record: client, credentialId, workload } = proven;
    return { client, credentialId, secret, certificate, workload };
  };
};

const proveBySecret = async (
  deps: AuthenticateClientDeps,
  req: IncomingMessage,
  { clientId, secret }: Extract<ClientProof, { method: 'secret' }>,
): Promise<Proven | undefined> => {
  const record = await deps.credentials.findClient(clientId, req);
  const proof = provesClient(deps.box, record, secret, deps.clock.now().getTime());
  if (proof === undefined || record === undefined) return undefined;
  if (!deps.rulesOf(record).sharedSecrets)
    throw new NoClientAuthentication(
      'This client authenticates by client_assertion only (FAPI 2.0), not by its secret',
    );
  const quarantine =
    quarantineOf(record) ??
    (proof.quarantinedReason === null ? undefined : quarantineText('client secret', proof.quarantinedReason));
  return { record, credentialId: proof.secretId, quarantine };
};

const proveByAssertion = async (
  deps: AuthenticateClientDeps,
  req: IncomingMessage,
  proof: Extract<ClientProof, { method: 'assertion' }>,
  beforeUse: BeforeUse,
): Promise<Proven | undefined> => {
  const { clientId, assertion } = proof;
  if (isOfIssuer(assertion)) return proveByWorkload(deps, req, proof, beforeUse);
  const named = clientOfAssertion(assertion);
  if (named === undefined || (clientId !== undefined && clientId !== named)) return undefined;
  const record = await deps.credentials.findClient(named, req);
  if (record === undefined || record.disabled) return undefined;
  const key = await verifyAssertion(deps.assertions, record, assertion, beforeUse);
  if (key === undefined) return undefined;
  return { record, credentialId: clientKeyName(record.clientId, key.keyId), quarantine: quarantineOf(record) };
};

const proveByCertificate = async (
  deps: AuthenticateClientDeps,
  req: IncomingMessage,
  { clientId, certificate }: Extract<ClientProof, { method: 'certificate' }>,
): Promise<Proven | undefined> => {
  const record = await deps.credentials.findClient(clientId, req);
  if (record === undefined || record.disabled || !isOfClient(deps, record, certificate)) return undefined;
  const credentialId = clientKeyName(record.clientId, certificate.thumbprint);
  return { record, credentialId, quarantine: quarantineOf(record) };
};

const proveByWorkload = async (
  { verifyWorkload, credentials, rulesOf, sourceOf }: AuthenticateClientDeps,
  req: IncomingMessage,
  { clientId, assertion }: Extract<ClientProof, { method: 'assertion' }>,
  beforeUse: BeforeUse,
): Promise<Proven | undefined> => {
  const verified = await verifyWorkload(assertion, clientId, beforeUse, sourceOf(req));
  switch (verified.kind) {
    case 'unknown':
      return undefined;
    case 'unavailable':
      throw issuerAway(retrySeconds);
    case 'wrong':
      throw wrongClaim(verified.text, { claim: verified.claim, ...verified.facts });
    case 'proven': {
      const { trust, facts } = verified;
      const record = await credentials.findClient(trust.clientId);
      if (record === undefined || record.disabled) return undefined;
      if (!rulesOf(record).trustedIssuers)
        throw new NoClientAuthentication(
          'This client signs its assertions itself (FAPI 2.0); no issuer may do so for it',
        );
      return { record, credentialId: trust.trustId, quarantine: quarantineOf(record), workload: facts };
    }
  }
};

const quarantineOf = ({ quarantinedReason }: ClientRecord): string | undefined =>
  quarantinedReason === null ? undefined : quarantineText('API client', quarantinedReason);
