/** Sign-in with an external OpenID provider: the redirect to it, and the return. */
import { redirect } from '../page/answer.ts';
import type { PublicPage } from '../page/public-page.ts';
import { keptCookie, pendingCookie } from '../server/cookies.ts';
import { nextOf } from './next-path.ts';
import { afterSignIn, signInPage } from './pages.ts';

export const providerPages: readonly PublicPage[] = [
  {
    // A link and not a form: `form-action` of the content security policy would have to list the provider's origin.
    method: 'GET',
    path: '/sign-in/provider',
    handle: async (visit) => {
      const { staff, query, texts } = visit;
      const begun = await staff.provider.begin(nextOf(query));
      if (begun === undefined) return signInPage(visit, { email: '', problem: texts.signIn.providerAway });
      return redirect(begun.url, undefined, [keptCookie(pendingCookie, begun.pending)]);
    },
  },
  {
    method: 'GET',
    path: '/sign-in/provider/return',
    handle: async (visit) => {
      const { staff, query, pending, visitor, texts } = visit;
      const { result, next } = await staff.provider.finish(pending, query, visitor);
      const { providerFailed, providerUnknown } = texts.signIn;
      if (result.kind === 'unknown') return signInPage(visit, { email: '', problem: providerUnknown, next });
      const signedIn = result.kind === 'failed' ? undefined : afterSignIn(result, next);
      return signedIn ?? signInPage(visit, { email: '', problem: providerFailed, next });
    },
  },
];
