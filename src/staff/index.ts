/**
 * staff owns the accounts of those who work at the panel, their sessions and the ways to sign in.
 *
 * - `users/`: accounts by role (`users.ts`, also for the command line), one-time links, and what people do to their own.
 * - `sign-in/`: from a password, a link or an external OpenID provider to a session (`sign-in.ts`); who guesses is slowed
 *   down (`throttle.ts`), passwords are kept as keyed argon2id (`password-hash.ts`).
 * - `second-factor/`: one-time codes (`totp.ts`) and recovery codes.
 * - `sessions/`: tokens and their digests, idle and absolute ends, and the upkeep that forgets what has ended.
 *
 * The way through: `createStaff` -> a use case -> one transaction { lock the user, change, event for the audit } -> a store.
 * It knows no page, cookie or language: what a browser shall keep it returns, and the panel, which reaches it over ports
 * that the app wires, sets the cookies. What restaurants an owner has are ids here; whether they exist is asked elsewhere.
 */
import { loadMigrations } from '#src/platform/db/migrate.ts';

export type { RecordEvents, StaffAction, StaffEvent } from './accounts/account-events.ts';
export { roles } from './accounts/role.ts';
export { type StaffSettings, staffSettings } from './config.ts';
export { createStaff, type Staff, type StaffDeps } from './create-staff.ts';
export { createUsers, type ShownUser, type Users } from './users/users.ts';

/** Schema and recorded name are `panel`: stores that were made while the panel held the accounts go on as they are. */
export const staffMigrations = loadMigrations('panel', new URL('./migrations/', import.meta.url));
