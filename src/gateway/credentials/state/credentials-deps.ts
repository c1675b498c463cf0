/** What the changes and the views of credentials have in common. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';

export type CredentialsDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'digest' | 'derive'>;
  clock: Clock;
  /** Scopes that exist; without the list every name is accepted. */
  scopes?: readonly string[];
  /** Name of the actor, for the history. Default: system. */
  actor?: string;
};

/** Throws NOT_FOUND unless `isFound`. */
export const assertFound = (isFound: boolean, what: string, id: string): void => {
  if (!isFound) throw notFound(what, id);
};

/** Throws NOT_FOUND for undefined. */
export const found = <T>(value: T | undefined, what: string, id: string): T => {
  if (value === undefined) throw notFound(what, id);
  return value;
};

const notFound = (what: string, id: string): Fault => new Fault('NOT_FOUND', `There is no ${what} ${id}`);
