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
  endSessions: 'End all sessions',
  notYourself: 'Another administrator must do this to your account; your own sessions are on your account page.',
  ask: {
    disable: {
      title: (email: string) => `Disable ${email}?`,
      text: 'Every session of this account ends, and so does its one-time link. It cannot be signed in to until it is enabled again.',
    },
    'remove-totp': {
      title: (email: string) => `Remove the one-time codes of ${email}?`,
      text: 'From then on this account can be signed in to without a code. Its recovery codes end too.',
    },
    'end-session': {
      title: (email: string) => `End this session of ${email}?`,
      text: 'That browser must sign in again.',
    },
    'end-sessions': {
      title: (email: string) => `End all sessions of ${email}?`,
      text: 'Every browser must sign in again.',
    },
  },
  /** For an account that has no password yet. */
  enabledInvited: (email: string) =>
    `${email} is enabled. It has no password yet, and its former one-time link has ended: make a new link.`,
  done: {
    disable: (email: string) => `${email} is disabled, and every session of this account has ended.`,
    enable: (email: string) => `${email} is enabled and can sign in again.`,
    'remove-totp': (email: string) => `The one-time codes of ${email} were removed.`,
    'end-session': (email: string) => `The session of ${email} has ended.`,
    'end-sessions': (email: string) => `Every session of ${email} has ended.`,
  },
};
