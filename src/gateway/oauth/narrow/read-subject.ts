/**
 * Token exchange (RFC 8693): the subject token, whose limits the new token cannot exceed. A client exchanges its own live
 * tokens only, so that a token in other hands gives no further ones.
 */
import { type DetailCode, Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { Authenticator } from '../../access/authenticate.ts';
import type { VerifiedToken } from '../../access/bearer-tokens.ts';
import { ancestorsMax } from '../../access/rights/token-limits.ts';
import type { ClientRecord } from '../../credentials/lookup/records.ts';
import { NarrowRefusal } from './narrow-refusal.ts';
import { invalidTarget } from './settle-audiences.ts';

export type Subject = {
  token: VerifiedToken;
  /** Wanted lifetime in seconds; undefined: the longest one. */
  wantedSeconds: number | undefined;
  /** Counts the exchange. Rejects with NarrowRefusal when as many were made as may be. */
  count(): Promise<void>;
};

export type ReadSubjectDeps = {
  clock: Clock;
  inspectToken: Authenticator['inspectToken'];
  /** False: as many tokens were exchanged from this one, and from those, as may be. */
  countExchange: (
    root: { jti: string; expires: Date; clientId: string },
    exchangesMax: number,
    now: Date,
  ) => Promise<boolean>;
};

/** Form fields of this grant alone; other grants ignore them. */
export const exchangeFields = [
  'subject_token',
  'subject_token_type',
  'requested_token_type',
  'actor_token',
  'actor_token_type',
  'audience',
  'expires_in',
] as const;

export type ExchangeForm = Partial<Record<(typeof exchangeFields)[number], string>>;

/** `bound`: thumbprints of the key and the certificate that the new token is bound to. Rejects with NarrowRefusal, or with what failed. */
export type ReadSubject = (
  form: ExchangeForm,
  client: ClientRecord,
  bound: Pick<VerifiedToken, 'jkt' | 'x5t'>,
) => Promise<Subject>;

export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** Tokens that come of one token of the grant, over all levels. */
const exchangesMax = 1_000;

export const createReadSubject = (deps: ReadSubjectDeps): ReadSubject => {
  return async (form, client, { jkt, x5t }) => {
    const { text, wantedSeconds } = readParameters(form);
    const token = await inspect(deps, text, client);
    // A key that is bound stays bound: without its proof the new token would be worth more than the old one.
    if (token.jkt !== undefined && token.jkt !== jkt) {
      throw new NarrowRefusal('invalid_dpop_proof', 'The subject token is bound to a key: send a proof of that key');
    }
    if (token.x5t !== undefined && token.x5t !== x5t) {
      throw new NarrowRefusal(
        'invalid_request',
        'The subject token is bound to a certificate: authenticate by that certificate, without a DPoP proof',
      );
    }
    const { ancestors = [] } = token.limits ?? {};
    if (ancestors.length >= ancestorsMax) {
      throw new NarrowRefusal(
        'invalid_request',
        `The subject token is the result of ${ancestorsMax} exchanges, and no further one is made`,
      );
    }
    const root = {
      jti: ancestors.at(-1) ?? token.jti,
      expires: new Date(token.expiresMs),
      clientId: client.clientId,
    };
    const count = async (): Promise<void> => {
      if (await deps.countExchange(root, exchangesMax, deps.clock.now())) return;
      throw new NarrowRefusal(
        'invalid_request',
        `${exchangesMax} tokens were exchanged from the first token of this one; get a new one`,
      );
    };
    return { token, wantedSeconds, count };
  };
};

const invalidField = (pointer: string, code: DetailCode, text: string): NarrowRefusal =>
  new NarrowRefusal('invalid_request', text, { pointer, code });

const readParameters = (form: ExchangeForm): { text: string; wantedSeconds: number | undefined } => {
  for (const name of ['actor_token', 'actor_token_type'] as const)
    if (form[name] !== undefined) throw invalidField(name, 'ENUM', 'is not taken: a client acts for itself');
  if (form.audience !== undefined) throw invalidTarget('is not taken: name the service by resource', 'audience');
  for (const name of ['subject_token', 'subject_token_type'] as const)
    if (form[name] === undefined) throw invalidField(name, 'REQUIRED', 'is missing');
  for (const name of ['subject_token_type', 'requested_token_type'] as const)
    if (form[name] !== undefined && form[name] !== accessTokenType)
      throw invalidField(name, 'ENUM', `must be ${accessTokenType}`);
  const { subject_token: text = '', expires_in: seconds } = form;
  if (seconds !== undefined && !/^[1-9]\d{0,8}$/.test(seconds))
    throw invalidField('expires_in', 'FORMAT', 'must be a number of seconds');
  return { text, wantedSeconds: seconds === undefined ? undefined : Number(seconds) };
};

/** One text for every token that is not live, or of another client. */
const inspect = async (deps: ReadSubjectDeps, text: string, { clientId }: ClientRecord): Promise<VerifiedToken> => {
  try {
    const { token } = await deps.inspectToken(text);
    if (token.clientId === clientId) return token;
  } catch (error) {
    if (!(error instanceof Fault) || error.status >= 500) throw error;
  }
  throw invalidField('subject_token', 'FORMAT', 'must be a live access token of this client');
};
