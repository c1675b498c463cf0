/** Texts of the pages about staff accounts. */
export const users = {
  title: 'Users',
  howToCreate: 'Accounts are created at the command line:',
  state: 'State',
  states: { active: 'Active', invited: 'Invited', disabled: 'Disabled' },
  secondFactor: 'Second factor',
  yes: 'Yes',
  no: 'No',
  created: 'Created',
  restaurants: 'Restaurants',
  makeLink: 'New one-time link',
  linkMade:
    'Give this link to the user. It works once, unless a newer one is made or the account is disabled, and at most until',
  disable: 'Disable',
  enable: 'Enable',
  endSessions: 'Sign out everywhere',
  notYourself:
    'Only another administrator can do this to your account. Your account page shows where you are signed in.',
  ask: {
    disable: {
      title: (email: string) => `Disable ${email}?`,
      text: 'The account is signed out everywhere and its one-time link stops working. Signing in to it is not possible until it is enabled again.',
    },
    'remove-totp': {
      title: (email: string) => `Remove the one-time codes of ${email}?`,
      text: 'From then on the password alone is enough to sign in. The recovery codes stop working too.',
    },
    'end-session': {
      title: (email: string) => `Sign this browser out of ${email}?`,
      text: 'That browser must sign in again.',
    },
    'end-sessions': {
      title: (email: string) => `Sign out ${email} everywhere?`,
      text: 'Every browser must sign in again.',
    },
  },
  /** For an account that has no password yet. */
  enabledInvited: (email: string) =>
    `${email} is enabled. It has no password yet, and its former one-time link has ended: make a new link.`,
  done: {
    disable: (email: string) => `${email} is disabled and signed out everywhere.`,
    enable: (email: string) => `${email} is enabled and can sign in again.`,
    'remove-totp': (email: string) => `The one-time codes of ${email} were removed.`,
    'end-session': (email: string) => `The browser is signed out of ${email}.`,
    'end-sessions': (email: string) => `${email} is signed out everywhere.`,
  },
};
