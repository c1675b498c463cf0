/** Signs in an account that was made by the command line, without a browser. */

/** Of every account of the demo. */
export const password = 'a long password of the demo';

const asForm = (origin: string, fields: Record<string, string>) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
  body: new URLSearchParams(fields),
  redirect: 'manual' as const,
});

/** `link`: the one-time link of the account, with which it gets its password. Returns the cookies of its session. */
export const cookieOf = async (origin: string, link: string, email: string): Promise<string> => {
  const { pathname, searchParams } = new URL(link);
  const token = searchParams.get('token') ?? '';
  await fetch(`${origin}${pathname}`, asForm(origin, { token, password, again: password }));
  const answer = await fetch(`${origin}/panel/sign-in`, asForm(origin, { email, password }));
  if (answer.status !== 303) throw new Error(`${email} could not sign in: ${answer.status}`);
  return answer.headers
    .getSetCookie()
    .map((text) => text.split(';', 1)[0])
    .join('; ');
};
