/**
 * Mails one-time links: invitations, links that an administrator sends, and links that users ask for because they forgot their
 * password. A link leaves the program only as the text of such a mail.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import { normalizeEmail } from '../accounts/email.ts';
import { findUser, findUserByEmail } from '../accounts/user-store.ts';
import type { Visitor } from '../sign-in/sign-in.ts';
import type { Throttle } from '../sign-in/throttle.ts';
import { maySetPassword, type OneTimeLink, type Users } from '../users/users.ts';
import { type LinkKind, mailLanguage, mailTexts } from './mail-texts.ts';
import type { Mailer } from './mailer.ts';

type StaffMailDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  mailer: Mailer | undefined;
  throttle: Throttle;
  users: Users;
  linkAddress: string;
};

/** Links that are being made and sent at a time; further ones are dropped, as the page promises no mail. */
const forgottenMax = 50;
const hourMs = 3_600_000;

export const createStaffMail = (deps: StaffMailDeps) => {
  const { db, clock, log, mailer, throttle, users } = deps;
  const { origin } = new URL(deps.linkAddress);
  const mailLink = async (
    to: { email: string; language: string | undefined },
    kind: LinkKind,
    { link, expires }: OneTimeLink,
    language: string,
  ): Promise<'sent' | 'failed'> => {
    if (mailer === undefined) return 'failed';
    const hours = Math.max(1, Math.round((expires.getTime() - clock.now().getTime()) / hourMs));
    return mailer.send({
      to: to.email,
      ...mailTexts[mailLanguage(to.language, language)][kind]({ link, hours, origin }),
    });
  };
  const sendForgotten = async (email: string, address: string, language: string): Promise<void> => {
    const user = await findUserByEmail(db, email);
    if (user === undefined || !maySetPassword(user)) return;
    // An invited user has no password yet, so the mail says what the invitation said.
    const kind = user.password !== undefined ? 'reset' : user.role === 'contact' ? 'contact' : 'invitation';
    await users.makeForgottenLink(user, address, (link) => mailLink(user, kind, link, language));
  };
  let running = 0;
  return {
    /** False: no mail server is configured. */
    isOn: mailer !== undefined,
    /** `language`: for an account that has chosen none. */
    sendLink: async (
      userId: string,
      kind: LinkKind,
      link: OneTimeLink,
      language: string,
    ): Promise<'sent' | 'failed'> => {
      const user = await findUser(db, userId);
      return user === undefined ? 'failed' : mailLink(user, kind, link, language);
    },
    /**
     * Sends a link to the account of this email, if there is one. The answer neither depends on that nor waits for it, so it
     * tells nothing about accounts.
     */
    sendToForgetful: async (
      given: string,
      { address, network }: Visitor,
      language: string,
    ): Promise<{ kind: 'asked' } | { kind: 'wait'; seconds: number }> => {
      const email = normalizeEmail(given.slice(0, 300));
      const verdict = await throttle.countLink(email, network);
      if (verdict.kind === 'wait')
        return verdict.isOfAddress ? { kind: 'wait', seconds: verdict.seconds } : { kind: 'asked' };
      if (mailer === undefined || running >= forgottenMax) return { kind: 'asked' };
      running += 1;
      sendForgotten(email, address, language)
        .catch((error: unknown) => log.warn({ err: error }, 'a link for a forgotten password could not be made'))
        .finally(() => {
          running -= 1;
        });
      return { kind: 'asked' };
    },
  };
};
