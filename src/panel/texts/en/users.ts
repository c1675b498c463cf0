/** Texts of the pages about staff accounts. */
import { passkeys } from './people.ts';

export const users = {
  sessions: 'Where this account is signed in',
  title: 'Users',
  invite: 'Invite a user',
  emailProblem: 'Type an email address, such as name@example.com.',
  emailTaken: 'There is an account with this email already.',
  chooseRole: 'Choose a role',
  roleHint:
    'An owner sees the restaurants chosen below. Support, security and administrators see all of them. A contact of an integrator is invited on the page of the API client.',
  roleProblem: 'Choose a role.',
  restaurantsOfOwner: 'Restaurants of an owner',
  restaurantsProblem: 'Choose at least one restaurant: an owner sees no other.',
  mailLink: 'Send the link by mail',
  invitedTitle: (email: string) => `${email} is invited`,
  linkOf: (email: string) => `Link for ${email}`,
  linkText: 'Give this link to the user, who chooses a password with it. It is shown only now.',
  linkUntil:
    'It works once, unless a newer one is made, or the account is disabled or gets another role, and at most until',
  linkHanded: 'I have passed it on',
  linkMailed: (email: string) => `A one-time link was sent to ${email}. It works within a day.`,
  linkNotMailed: (email: string) =>
    `The mail server refused the mail to ${email} or gave no answer in time; it may still arrive. Pass the link on in another way.`,
  changeAccess: 'Role and restaurants',
  accessTitle: (email: string) => `Role and restaurants of ${email}`,
  accessIntro: 'A change holds at once, also in sessions that are open.',
  accessAsk: (email: string) => `Change role or restaurants of ${email}?`,
  accessRole: (before: string, after: string) =>
    `The role “${before}” becomes “${after}”: pages that only the former role opens are refused from now on, and a one-time link that was not used yet ends.`,
  accessLost: 'The account loses these restaurants:',
  accessSaved: (email: string) => `Role and restaurants of ${email} are saved.`,
  save: 'Save',
  state: 'State',
  states: { active: 'Active', invited: 'Invited', disabled: 'Disabled' },
  secondFactor: 'Second factor',
  factors: { none: 'None', codes: 'Codes', passkey: 'Passkey', both: 'Codes and passkey' },
  created: 'Created',
  restaurants: 'Restaurants',
  makeLink: 'New one-time link',
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
      text: 'From then on no code is asked for, and the recovery codes stop working too. Where the role requires a second factor, a new one must be added at the next sign-in.',
    },
    'remove-passkeys': passkeys.ask,
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
    'remove-passkeys': passkeys.removedAll,
    'end-session': (email: string) => `The browser is signed out of ${email}.`,
    'end-sessions': (email: string) => `${email} is signed out everywhere.`,
  },
};
