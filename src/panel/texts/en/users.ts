/** Texts of the pages about staff accounts. */
import { passkeys } from './people.ts';

export const users = {
  title: 'Users',
  invite: 'Invite a user',
  emailProblem: 'Type an email address, such as name@example.com.',
  emailTaken: 'There is an account with this email already.',
  chooseRole: 'Choose a role',
  roleHint: 'An owner sees the restaurants chosen below. Every other role sees all restaurants.',
  roleProblem: 'Choose a role.',
  restaurantsOfOwner: 'Restaurants of an owner',
  restaurantsProblem: 'Choose at least one restaurant: an owner sees no other.',
  mailLink: 'Send the link by mail',
  invitedTitle: (email: string) => `${email} is invited`,
  linkOf: (email: string) => `Link for ${email}`,
  linkText: 'Give this link to the user, who chooses a password with it. It is shown only now.',
  linkUntil: 'It works once, unless a newer one is made or the account is disabled, and at most until',
  linkHanded: 'I have passed it on',
  linkMailed: (email: string) => `A one-time link was sent to ${email}. It works within a day.`,
  linkNotMailed: (email: string) =>
    `The mail server did not take the mail to ${email}. Pass the link on in another way.`,
  changeAccess: 'Role and restaurants',
  accessTitle: (email: string) => `Role and restaurants of ${email}`,
  accessIntro: 'A change holds at once, also in sessions that are open.',
  accessSaved: (email: string) => `Role and restaurants of ${email} are saved.`,
  save: 'Save',
  state: 'State',
  states: { active: 'Active', invited: 'Invited', disabled: 'Disabled' },
  secondFactor: 'Second factor',
  yes: 'Yes',
  no: 'No',
  created: 'Created',
  restaurants: 'Restaurants',
  makeLink: 'New one-time link',
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
    'remove-passkeys': passkeys.ask,
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
    'remove-passkeys': passkeys.removedAll,
    'end-session': (email: string) => `The session of ${email} has ended.`,
    'end-sessions': (email: string) => `Every session of ${email} has ended.`,
  },
};
