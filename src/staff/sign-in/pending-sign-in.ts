/**
 * A sign-in on its way is kept, sealed, by the browser for some minutes: the store keeps nothing for strangers. It proves what was
 * done so far, and is worth nothing without what is missing.
 */
import { z } from 'zod';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';

const minutes = 10;
const label = 'panel-pending';

const pending = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('code'),
    userId: z.string(),
    method: z.enum(['password', 'oidc', 'link']),
    /** Of the password that was right: a new one ends this. */
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
]);

type Pending = z.infer<typeof pending>;
export type PendingCode = Extract<Pending, { kind: 'code' }>;
export type PendingProvider = Extract<Pending, { kind: 'provider' }>;

type WithoutEnd<T> = T extends unknown ? Omit<T, 'until'> : never;

/** What a browser is given to keep, and for how long. */
export type Kept = { value: string; seconds: number };

export type PendingSignIns = ReturnType<typeof createPendingSignIns>;

export const createPendingSignIns = ({ box, clock }: { box: Pick<SecretBox, 'seal' | 'open'>; clock: Clock }) => {
  const read = (value: string | undefined): Pending | undefined => {
    if (value === undefined || value.length > 3_000) return undefined;
    try {
      const found = pending.parse(JSON.parse(box.open(Buffer.from(value, 'base64url'), label)));
      return found.until > clock.now().getTime() ? found : undefined;
    } catch {
      // Not ours, or made under another key.
      return undefined;
    }
  };
  return {
    keep: (given: WithoutEnd<Pending>): Kept => {
      const until = clock.now().getTime() + minutes * 60_000;
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
  };
};
