/**
 * The state of a sign-in between its steps. It is sealed and stored in a cookie of the browser for some minutes, so
 * strangers cannot fill the database. It proves the steps that are done and is useless without the missing one.
 */
import { z } from 'zod';
import { type Clock, minuteMs } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';

const minutes = 10;
const label = 'panel-pending';

const pending = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('code'),
    userId: z.string(),
    method: z.enum(['password', 'oidc', 'link']),
    /** Tag of the checked password: a change of password invalidates this state. */
    passwordTag: z.string(),
    until: z.number(),
  }),
  z.object({
    kind: z.literal('provider'),
    verifier: z.string(),
    state: z.string(),
    nonce: z.string(),
    next: z.string(),
    until: z.number(),
  }),
  z.object({ kind: z.literal('passkey'), challenge: z.string(), until: z.number() }),
  z.object({
    kind: z.literal('newPasskey'),
    userId: z.string(),
    sessionId: z.string(),
    challenge: z.string(),
    name: z.string(),
    until: z.number(),
  }),
]);

type Pending = z.infer<typeof pending>;
export type PendingCode = Extract<Pending, { kind: 'code' }>;
export type PendingProvider = Extract<Pending, { kind: 'provider' }>;
type PendingPasskey = Extract<Pending, { kind: 'passkey' }>;
type PendingNewPasskey = Extract<Pending, { kind: 'newPasskey' }>;

type WithoutEnd<T> = T extends unknown ? Omit<T, 'until'> : never;

/** A cookie value and its lifetime. */
export type CookieValue = { value: string; seconds: number };

export type PendingSignIns = ReturnType<typeof createPendingSignIns>;

export const createPendingSignIns = ({ box, clock }: { box: Pick<SecretBox, 'seal' | 'open'>; clock: Clock }) => {
  const read = (value: string | undefined): Pending | undefined => {
    if (value === undefined || value.length > 3_000) return undefined;
    try {
      const found = pending.parse(JSON.parse(box.open(Buffer.from(value, 'base64url'), label)));
      return found.until > clock.now().getTime() ? found : undefined;
    } catch {
      // Not created by this installation, or sealed under another key.
      return undefined;
    }
  };
  return {
    keep: (given: WithoutEnd<Pending>): CookieValue => {
      const until = clock.now().getTime() + minutes * minuteMs;
      const value = box.seal(JSON.stringify({ ...given, until }), label).toString('base64url');
      return { value, seconds: minutes * 60 };
    },
    code: (value: string | undefined): PendingCode | undefined => {
      const found = read(value);
      return found?.kind === 'code' ? found : undefined;
    },
    provider: (value: string | undefined): PendingProvider | undefined => {
      const found = read(value);
      return found?.kind === 'provider' ? found : undefined;
    },
    passkey: (value: string | undefined): PendingPasskey | undefined => {
      const found = read(value);
      return found?.kind === 'passkey' ? found : undefined;
    },
    /** Not for a cookie: the form of a new passkey carries it. */
    newPasskey: (value: string): PendingNewPasskey | undefined => {
      const found = read(value);
      return found?.kind === 'newPasskey' ? found : undefined;
    },
  };
};
