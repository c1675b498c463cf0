/** Joins what pages may do about staff accounts. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { PanelSettings } from '../config.ts';
import type { RecordEvents } from '../ports.ts';
import { createExternalProvider } from './external-provider.ts';
import { createOwnAccount } from './own-account.ts';
import { createPasswordHash } from './password-hash.ts';
import { createPendingSignIns } from './pending-sign-in.ts';
import { createSecondFactor } from './second-factor.ts';
import { createSessions } from './sessions.ts';
import { createSignIn } from './sign-in.ts';
import { createProviderSignIn } from './sign-in-with-provider.ts';
import { createThrottle } from './throttle.ts';
import { notifyUsers } from './user-store.ts';
import { createUsers } from './users.ts';

export type AccountsDeps = {
  db: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  log: Logger;
  record: RecordEvents;
  origin: string;
  settings: Omit<PanelSettings, 'enabled'>;
};

export type Accounts = ReturnType<typeof createAccounts>;

export const createAccounts = (given: AccountsDeps) => {
  // Whatever changes is recorded, so those who watch are told there.
  const record: RecordEvents = async (tx, now, ...events) => {
    await given.record(tx, now, ...events);
    await notifyUsers(tx);
  };
  const deps = { ...given, record };
  const { box, settings, origin } = deps;
  const sessions = createSessions(deps);
  const passwordHash = createPasswordHash(box.derive('panel-password'));
  const throttle = createThrottle(deps);
  const secondFactor = createSecondFactor(deps);
  const pendings = createPendingSignIns(deps);
  const signIn = createSignIn({ ...deps, sessions, passwordHash, throttle, secondFactor, pendings });
  const provider = createExternalProvider(settings, origin);
  return {
    sessions,
    signIn,
    secondFactor,
    users: createUsers(deps),
    own: createOwnAccount({ ...deps, passwordHash, throttle, secondFactor }),
    provider: createProviderSignIn({ ...deps, pendings, signIn, provider }),
  };
};
