/** Issuers that a client trusts instead of keeping a secret (interface 28). */
import { Fault, type FaultDetail, validationFault } from '#src/contract/fault.ts';
import { newTrustId } from '../../model/credential-values.ts';
import { clientExists } from '../lookup/credential-store.ts';
import { assertFound, type CredentialsDeps } from '../state/credentials-deps.ts';
import { countTrusts, insertTrust, markTrustRemoved, type TrustRow } from '../trust/trust-store.ts';
import { change, noteChange, only, type Tx } from './change.ts';

export type NewTrust = {
  clientId: string;
  issuer: string;
  subject: string;
  audience: string;
  /** Default: found by discovery. */
  jwksUri?: string | undefined;
  /** An assertion with a `jti` may be used until it expires. Default: once. */
  reusable?: boolean | undefined;
};

const trustsMax = 50;

export const trustChanges = (deps: CredentialsDeps) => ({
  /** CONFLICT: the client trusts exactly that already, or 50 others. VALIDATION_ERROR names what cannot be trusted. */
  addTrust: async (trust: NewTrust, tx?: Tx): Promise<TrustRow> => {
    assertTrust(trust);
    const { clientId, jwksUri = null, reusable = false } = trust;
    return change(deps, tx, only(clientId), async (inner) => {
      assertFound(await clientExists(inner, clientId), 'client', clientId);
      if ((await countTrusts(inner, clientId)) >= trustsMax) {
        throw new Fault('CONFLICT', `A client trusts at most ${trustsMax} subjects`);
      }
      const row: TrustRow = { ...trust, trustId: newTrustId(), jwksUri, reusable };
      const isNew = await insertTrust(inner, row, deps.clock.now());
      if (!isNew) throw new Fault('CONFLICT', 'The client trusts this subject of the issuer for this audience already');
      await noteTrust(deps, inner, 'client_trust.added', row);
      return row;
    });
  },

  /** Tokens that were issued before stay valid until they expire; `revokeClientTokens` ends them. */
  removeTrust: (clientId: string, trustId: string, tx?: Tx): Promise<void> =>
    change(deps, tx, only(clientId), async (inner) => {
      assertFound(await markTrustRemoved(inner, clientId, trustId, deps.clock.now()), 'trust', trustId);
      await noteTrust(deps, inner, 'client_trust.removed', { clientId, trustId });
    }),
});

const noteTrust = (
  deps: CredentialsDeps,
  tx: Tx,
  action: 'client_trust.added' | 'client_trust.removed',
  { clientId, trustId, ...trust }: Pick<TrustRow, 'clientId' | 'trustId'> & Partial<TrustRow>,
): Promise<void> =>
  noteChange(deps, tx, {
    action,
    client_id: clientId,
    credential_id: trustId,
    details: JSON.stringify({
      issuer: trust.issuer,
      subject: trust.subject,
      audience: trust.audience,
      jwks_uri: trust.jwksUri ?? undefined,
      reusable: trust.reusable,
    }),
  });

const textLengthMax = 512;
const visible = /^[\x21-\x7e]+$/;

const assertTrust = ({ issuer, subject, audience, jwksUri }: NewTrust): void => {
  const errors: FaultDetail[] = [];
  const check = (pointer: string, problem: string | undefined): void => {
    if (problem !== undefined) errors.push({ pointer, code: 'FORMAT', message: problem });
  };
  check('issuer', jwksUri === undefined ? urlProblem(issuer) : textProblem(issuer));
  if (jwksUri !== undefined) check('jwks-uri', urlProblem(jwksUri));
  check('subject', subject.includes('*') ? 'is compared as a whole; * has no meaning in it' : subjectProblem(subject));
  check('audience', textProblem(audience));
  if (errors.length > 0) throw validationFault(errors);
};

const textProblem = (text: string): string | undefined =>
  visible.test(text) && text.length <= textLengthMax
    ? undefined
    : `must have 1 to ${textLengthMax} characters of ASCII without blanks`;

/** GitHub writes names of branches, environments and workflows into it as they are. */
const subjectForm = /^[^\p{C}\p{Z}](?:[^\p{C}\p{Z}]| (?! *$))*$/u;

const subjectProblem = (text: string): string | undefined =>
  text.length <= textLengthMax && subjectForm.test(text)
    ? undefined
    : `must have 1 to ${textLengthMax} visible characters, and blanks only between them`;

const urlProblem = (text: string): string | undefined => {
  const problem = textProblem(text);
  if (problem !== undefined || !URL.canParse(text)) return problem ?? 'must be an absolute URL';
  const { protocol, hostname, username, hash, search } = new URL(text);
  if (username !== '' || hash !== '' || search !== '') return 'must have no credentials, query or fragment';
  const isLoopback = /^(127\.0\.0\.1|localhost|\[::1\])$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback) ? undefined : 'must begin with https://';
};
