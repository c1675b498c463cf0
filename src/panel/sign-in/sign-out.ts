/** Sign-out and the choice of language. Both work without a session, so that they never redirect to the sign-in. */
import { redirect } from '../page/answer.ts';
import type { PublicPage, Visit } from '../page/public-page.ts';
import { cookie, endCookie, languageCookie, sessionCookie } from '../server/cookies.ts';
import { isCsrfToken } from '../server/csrf.ts';
import { isLanguage } from '../texts/texts.ts';
import { ownAddress } from './next-path.ts';
import { signInPath } from './paths.ts';

const yearSeconds = 31_536_000;

export const signOutPages: readonly PublicPage[] = [
  {
    method: 'POST',
    path: '/sign-out',
    handle: async (visit) => {
      const { live, staff, visitor } = visit;
      // Without the token too: the page may be of an earlier session, and the cookie is removed in any case.
      if (live !== undefined)
        await staff.own.signOut(live.user.id, live.session.id, {
          actor: `panel:${live.user.id}`,
          address: visitor.address,
        });
      return redirect(signInPath, undefined, [endCookie(sessionCookie)]);
    },
  },
  {
    method: 'POST',
    path: '/language',
    handle: async (visit) => {
      const { live, staff, form } = visit;
      const language = form.get('language');
      const back = ownAddress(form.get('next'));
      if (!isLanguage(language)) return redirect(back);
      if (live !== undefined && hasToken(visit)) await staff.own.setLanguage(live.user.id, language);
      return redirect(back, undefined, [cookie(languageCookie, language, yearSeconds)]);
    },
  },
];

const hasToken = ({ live, form }: Visit): boolean =>
  live !== undefined && isCsrfToken(form.get('csrf'), live.csrfToken);
