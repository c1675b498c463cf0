/**
 * staff owns the accounts of the people who use the panel (staff, and contacts of API clients), their sessions and the
 * ways to sign in.
 *
 * - `accounts/`: rows of accounts, roles and one-time links, and the audit events of all folders.
 * - `sessions/`: tokens and their digests, idle and absolute ends.
 * - `second-factor/`: one-time codes (`totp.ts`) and recovery codes.
 * - `sign-in/`: password, link or external OpenID provider -> session (`sign-in.ts`); limits on guessing (`throttle.ts`);
 *   passwords as keyed argon2id (`password-hash.ts`).
 * - `passkeys/`: WebAuthn credentials, added, used and removed.
 * - `mail/`: one-time links by mail, and links for forgotten passwords.
 * - `notices/`: what users want to be notified of; decided and sent by a worker (`createNotices`).
 * - `users/`: use cases on accounts (`users.ts`, also for the command line), on contacts and on the own account.
 * - `upkeep/`: deletes what has ended.
 *
 * `createStaff` -> a use case -> one transaction { lock the user, change, event for the audit } -> a store. staff knows
 * no page or cookie, and of languages only those of its mails: it returns cookie values, and the panel, which reaches it
 * over ports that the app wires, sets the cookies. The restaurants of an owner and the clients of a contact are ids here;
 * the app checks that they exist.
 */
import { loadMigrations } from '#src/platform/db/schema/migrate.ts';

export type { RecordEvents, StaffEvent } from './accounts/account-events.ts';

export { createStaff, type Staff } from './create-staff.ts';
export { createMailer } from './mail/mailer.ts';
export type { Found, NoticeSources } from './notices/notice.ts';
export { createNotices } from './notices/notices.ts';
export { findUsersByStart } from './users/user-search-store.ts';
export { createUsers, type Users } from './users/users.ts';

/** The schema and the recorded name are `panel`, because these tables were first part of the panel. */
export const staffMigrations = loadMigrations('panel', new URL('./migrations/', import.meta.url));
