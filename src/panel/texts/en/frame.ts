/** Texts of the layout of every page, and of problem pages. */
import type { FaultCode } from '#src/contract/fault.ts';

export const frame = {
  skip: 'Skip to content',
  menu: 'Menu',
  mainNavigation: 'Main',
  groups: {
    restaurants: 'Restaurants',
    clients: 'Clients',
    portal: 'API clients',
    security: 'Security',
    users: 'Users',
  },
  subNavigation: 'This section',
  signOut: 'Sign out',
  language: 'Language',
  languageNames: { en: 'English', it: 'Italiano' },
  home: 'Overview',
  account: 'Account',
  requestFailed: 'There was no response. Reload the page to check whether the change was made before you try again.',
  changedMeanwhile:
    'This was changed after you opened the form, by another user or in another window. Nothing was saved. The form shows what is stored now: make your change again.',
  copied: 'Copied',
  copy: 'Copy',
  leaked: 'Reported as leaked',
  copyOf: (what: string) => `Copy ${what}`,
  pages: 'Pages',
  firstPage: 'First page',
  nextPage: 'Next page',
  roles: {
    owner: 'Owner',
    support: 'Support',
    security: 'Security',
    admin: 'Administrator',
    contact: 'Contact of an API client',
  },
  problems: {
    notFound: { title: 'Page not found', text: 'This page does not exist, or you cannot see it.' },
    forbidden: { title: 'Your role does not allow this', text: 'Your account cannot open this page.' },
    expired: {
      title: 'Please try again',
      text: 'This form does not belong to your current session, for example because you signed in again since it was opened. Nothing was changed.',
    },
    unavailable: {
      title: 'Not available right now',
      text: 'The server cannot answer right now. If you were changing something, check in a minute whether the change was made before you try again.',
    },
    failed: {
      title: 'Something went wrong',
      text: 'The server had an error. If you were changing something, check whether the change was made before you try again. If it happens again, tell support the request id.',
    },
    refused: { title: 'Request refused', text: '' },
  },
  /** `origin`: the address whose forms are accepted. */
  otherAddress: (origin: string): string =>
    `This form was not sent from a page at ${origin}. Open the panel at that address and try again. Nothing was changed.`,
  unknownChoice: (name: string, value: string, words: string): string =>
    `The address of this page has the unknown value “${value}” for ${name}. Known values: ${words}.`,
  unusableText: (name: string, value: string, max: number): string =>
    `The address of this page has the value “${value}” for ${name}, which cannot be searched for: at most ${max} characters.`,
  tooManyWords: (name: string, value: string, max: number): string =>
    `The address of this page has the value “${value}” for ${name}, which cannot be searched for: at most ${max} words.`,
  /** The text of a refusal by the code of the fault; `text`: its public text in English. */
  refused: (_code: FaultCode, text: string): string => text,
  cancel: 'Cancel',
  requestId: 'Request id',
  backHome: 'Back to the overview',
};
