/** Finds the credential of a leaked value. Only a value with the right checksum, or a token with the right signature, asks the store. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { BearerTokens } from '../../access/bearer-tokens.ts';
import type { LeakedCredential } from '../../credentials/change/end-leaked.ts';
import { idOfValue, isApiKey, isClientSecret } from '../../model/credential-values.ts';
import { TracedFault } from '../../model/traced-fault.ts';
import { findIssued } from '../find-issued.ts';

export type FindLeakedDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'digest'>;
  tokens: Pick<BearerTokens, 'verify'>;
};

/** Undefined: not issued here. `over`: a token that was issued here and has expired. Rejects when the store cannot be reached. */
export type FindLeaked = (value: string) => Promise<LeakedCredential | 'over' | undefined>;

export const createFindLeaked =
  ({ db, box, tokens }: FindLeakedDeps): FindLeaked =>
  async (value) => {
    const kind = isApiKey(value) ? 'api_key' : isClientSecret(value) ? 'client_secret' : undefined;
    if (kind === undefined) return findToken(tokens, value);
    const id = idOfValue(value);
    return (await findIssued({ db, box }, { kind, id, value })) === undefined ? undefined : { kind, id };
  };

/** The signing keys are in memory. */
const findToken = async (tokens: FindLeakedDeps['tokens'], value: string): ReturnType<FindLeaked> => {
  try {
    const { jti: id, clientId, expiresMs } = await tokens.verify(value);
    return { kind: 'token', id, clientId, expiresMs };
  } catch (error) {
    if (error instanceof TracedFault && error.trace.reason === 'token_expired') return 'over';
    if (error instanceof Fault && error.code === 'INVALID_AUTH') return undefined;
    throw error;
  }
};
