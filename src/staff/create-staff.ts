/** Builds all parts of staff accounts and sign-in. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { hintAfterCommit } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { RecordEvents } from './accounts/account-events.ts';
import type { StaffSettings } from './config.ts';
import type { Mailer } from './mail/mailer.ts';
import { createStaffMail } from './mail/staff-mail.ts';
import { createNoticeSettings, type NoticeUrls } from './notices/notice-settings.ts';
import { createPasskeys } from './passkeys/passkeys.ts';
import { createFactorPolicy } from './second-factor/factor-policy.ts';
import { createSecondFactor } from './second-factor/second-factor.ts';
import { createSessions } from './sessions/sessions.ts';
import { createExternalProvider } from './sign-in/external-provider.ts';
import { createPasswordHash } from './sign-in/password-hash.ts';
import { passwordLengthMax, passwordLengthMin, problemOfPassword } from './sign-in/password-rule.ts';
import { createPendingSignIns } from './sign-in/pending-sign-in.ts';
import { createSignIn } from './sign-in/sign-in.ts';
import { createProviderSignIn } from './sign-in/sign-in-with-provider.ts';
import { createThrottle } from './sign-in/throttle.ts';
import { createUpkeep } from './upkeep/upkeep.ts';
import { createContacts } from './users/contacts.ts';
import { createOwnAccount } from './users/own-account.ts';
import { createSavedSearches } from './users/saved-searches.ts';
import { createUsers } from './users/users.ts';

export type StaffDeps = {
  db: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  log: Logger;
  record: RecordEvents;
  settings: StaffSettings;
  /** Public address of the page that takes one-time links. */
  linkAddress: string;
  /** Public address that an external provider sends browsers back to. */
  returnAddress: string;
  /** Undefined: no mail server is configured, so links are shown instead. */
  mailer?: Mailer | undefined;
  /** The rules for addresses that notices are posted to. */
  noticeUrls: NoticeUrls;
  /** The client secret at that provider now. Default: that of the settings. */
  readProviderSecret?: () => string | undefined;
};

/** Channel of the hint that accounts or sessions have changed. */
const usersChannel = 'panel_users';

export type Staff = ReturnType<typeof createStaff>;

export const createStaff = (given: StaffDeps) => {
  // Every change is recorded, so this is the one place that sends open pages a hint.
  const record: RecordEvents = async (tx, now, ...events) => {
    await given.record(tx, now, ...events);
    hintAfterCommit(tx, usersChannel);
  };
  const deps = { ...given, record };
  const { box, settings, returnAddress } = deps;
  const sessions = createSessions(deps);
  const passwordHash = createPasswordHash(box.derive('panel-password'));
  const throttle = createThrottle(deps);
  const secondFactor = createSecondFactor(deps);
  const pendings = createPendingSignIns(deps);
  const signIn = createSignIn({ ...deps, sessions, passwordHash, throttle, secondFactor, pendings });
  const provider = createExternalProvider(settings, returnAddress, deps.readProviderSecret);
  const users = createUsers({ ...deps, keepsLastAdmin: true });
  const services: Service[] = [createUpkeep(deps)];
  return {
    sessions,
    signIn,
    secondFactor,
    passwordRule: { lengthMin: passwordLengthMin, lengthMax: passwordLengthMax, problemOf: problemOfPassword },
    searches: createSavedSearches(deps),
    users,
    passkeys: createPasskeys({ ...deps, pendings, throttle, signIn, origin: new URL(deps.linkAddress).origin }),
    factorPolicy: createFactorPolicy(deps),
    notices: createNoticeSettings(deps),
    mail: createStaffMail({ ...deps, mailer: deps.mailer, throttle, users }),
    contacts: createContacts(deps),
    own: createOwnAccount({ ...deps, passwordHash, throttle, secondFactor }),
    provider: createProviderSignIn({ ...deps, pendings, signIn, provider }),
    /** Must run while the panel serves sessions. */
    services,
  };
};
