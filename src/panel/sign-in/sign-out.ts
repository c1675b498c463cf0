/** Leaving, and the language: both also without a session, so that they never end in a sign-in. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { deleteSession } from '../accounts/session-store.ts';
import { isCsrfToken } from '../accounts/sessions.ts';
import { setLanguage } from '../accounts/user-store.ts';
import { redirect } from '../frame/answer.ts';
import { cookie, endCookie, languageCookie, sessionCookie } from '../frame/cookies.ts';
import type { PublicPage, Visit } from '../frame/public-page.ts';
import type { RecordEvents } from '../ports.ts';
import { isLanguage } from '../texts/texts.ts';
import { nextOf, signInPath } from './pages.ts';

type SignOutDeps = { db: Kysely<unknown>; clock: Clock; record: RecordEvents };

const yearSeconds = 31_536_000;

export const createSignOutPages = ({ db, clock, record }: SignOutDeps): readonly PublicPage[] => [
  {
    method: 'POST',
    path: '/sign-out',
    handle: async ({ live, form, address }) => {
      if (live !== undefined && isCsrfToken(form.get('csrf'), live.csrfToken)) {
        await inTransaction(db, async (tx) => {
          if (!(await deleteSession(tx, live.user.id, live.session.id))) return;
          await record(tx, clock.now(), {
            action: 'user.signed_out',
            outcome: 'success',
            actor: `panel:${live.user.id}`,
            address,
            details: { session_id: live.session.id },
          });
        });
      }
      return redirect(signInPath, undefined, [endCookie(sessionCookie)]);
    },
  },
  {
    method: 'POST',
    path: '/language',
    handle: async (visit: Visit) => {
      const language = visit.form.get('language');
      if (!isLanguage(language)) return redirect(nextOf(visit.form));
      const { live } = visit;
      if (live !== undefined && isCsrfToken(visit.form.get('csrf'), live.csrfToken))
        await setLanguage(db, live.user.id, language);
      const back =
        live === undefined
          ? visit.form.get('next') === signInPath
            ? signInPath
            : nextOf(visit.form)
          : nextOf(visit.form);
      return redirect(back, undefined, [cookie(languageCookie, language, yearSeconds)]);
    },
  },
];
