/** Texts of the frame around every page, and of what can go wrong on any. */
import type { FaultCode } from '#src/contract/fault.ts';

export const frame = {
  skip: 'Skip to content',
  mainNavigation: 'Main',
  subNavigation: 'This section',
  signOut: 'Sign out',
  language: 'Language',
  languageNames: { en: 'English', it: 'Italiano' },
  home: 'Overview',
  account: 'Account',
  requestFailed: 'No result came back. Reload the page to see whether it was done before you try again.',
  copied: 'Copied',
  copy: 'Copy',
  copyOf: (what: string) => `Copy ${what}`,
  pages: 'Pages',
  firstPage: 'First page',
  nextPage: 'Next page',
  roles: { owner: 'Owner', support: 'Support', security: 'Security', admin: 'Administrator' },
  homeIntro: 'What would you like to do?',
  nothingHere: 'There is nothing here for your account yet.',
  problems: {
    notFound: { title: 'Page not found', text: 'There is no such page, or it is not yours to see.' },
    forbidden: { title: 'Not for your role', text: 'Your account may not open this page.' },
    expired: {
      title: 'Please try again',
      text: 'This form does not belong to your current session, for example because you signed in again since it was opened. Nothing was changed.',
    },
    unavailable: {
      title: 'Back in a moment',
      text: 'The server cannot answer right now. If you were changing something, check in a minute whether it was done before you try again.',
    },
    failed: {
      title: 'Something went wrong',
      text: 'The server made a mistake. If you were changing something, check whether it was done before you try again. If it happens again, tell support the request id.',
    },
    refused: { title: 'That was refused', text: '' },
  },
  /** `origin`: the address that forms are taken from. */
  otherAddress: (origin: string): string =>
    `This form was not sent from a page at ${origin}. Open the panel at that address and try again. Nothing was changed.`,
  unknownChoice: (name: string, value: string, words: string): string =>
    `The address of this page asks for ${name} “${value}”, which is not known. Known are: ${words}.`,
  unusableText: (name: string, value: string, max: number): string =>
    `The address of this page asks for ${name} “${value}”, which cannot be looked for: at most ${max} characters.`,
  tooManyWords: (name: string, value: string, max: number): string =>
    `The address of this page asks for ${name} “${value}”, which cannot be looked for: at most ${max} words.`,
  /** What was refused, by the code of the fault; `text`: what the fault says in English. */
  refused: (_code: FaultCode, text: string): string => text,
  cancel: 'Cancel',
  requestId: 'Request id',
  backHome: 'Back to the overview',
};
