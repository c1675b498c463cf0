/** Texts of signing in. */
export const signIn = {
  title: 'Sign in',
  email: 'Email',
  password: 'Password',
  submit: 'Sign in',
  refused: 'Email or password is wrong.',
  wait: (minutes: number) =>
    `Too many attempts. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}, or ask for a one-time link.`,
  busy: 'Too many people are signing in right now. Try again in a few seconds.',
  signedOut: 'You are signed out.',
  linkTitle: 'Set your password',
  linkFor: (email: string) => `For ${email}`,
  newPassword: 'New password',
  newPasswordAgain: 'New password again',
  passwordRule: 'At least 12 characters. A few unrelated words are good.',
  setPassword: 'Set password and sign in',
  linkGone: {
    title: 'This link does not work any more',
    text: 'It was used, has expired, or a newer one was made. Ask for a new one.',
  },
  passwordShort: 'Use at least 12 characters.',
  passwordLong: 'Use at most 256 characters.',
  passwordCommon: 'This password is too easy to guess.',
  passwordsDiffer: 'The two passwords are not the same.',
};
