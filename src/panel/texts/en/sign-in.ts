/** Texts of signing in. */
export const signIn = {
  title: 'Sign in',
  email: 'Email',
  password: 'Password',
  submit: 'Sign in',
  refused: 'The email or password is wrong, or the account is disabled.',
  wait: (minutes: number) =>
    `Too many attempts. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}, or ask for a one-time link.`,
  /** A one-time link does not help: it asks for a code too. */
  waitForCode: (minutes: number) =>
    `Too many attempts. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
  withProvider: (name: string) => `Sign in with ${name}`,
  providerAway:
    'The external sign-in cannot be reached right now. Use your password if you have one, or try again in a minute.',
  providerFailed: 'The external sign-in did not work. Try again.',
  providerUnknown: 'There is no account here that this identity can use. Ask an administrator.',
  codeTitle: 'One more step',
  code: 'One-time code',
  codeHint: 'The six digits that your app shows, or a recovery code.',
  codeRefused: 'This code is wrong or too old, or it was used before. Try another one.',
  tooLate: 'This sign-in has expired, usually because it took too long. Sign in again.',
  forgot: {
    title: 'Forgot your password?',
    text: 'Type the email of your account. You get a link with which you choose a new password.',
    submit: 'Send me a link',
    asked: 'Check your mail',
    askedText:
      'If there is an account with this email, a link is on its way. It works once, within a day. If nothing arrives, check your spam folder or ask an administrator.',
    off: 'This installation sends no mail. Ask an administrator for a one-time link.',
    back: 'Back to the sign-in',
  },
  linkTitle: 'Set your password',
  linkFor: (email: string) => `For ${email}`,
  newPassword: 'New password',
  newPasswordAgain: 'Repeat the new password',
  passwordRule: 'At least 12 characters. A few unrelated words are good.',
  setPassword: 'Set password and sign in',
  linkGone: {
    title: 'This link no longer works',
    text: 'It was used, has expired, is incomplete, was replaced by a newer one, or the account is disabled. Ask for a new one.',
  },
  passwordShort: 'Use at least 12 characters.',
  passwordLong: 'Use at most 256 characters.',
  passwordCommon: 'This password is too easy to guess.',
  passwordsDiffer: 'The two passwords do not match.',
};
