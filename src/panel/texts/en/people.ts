/** Texts of passkeys, the required second factor, and notices. */
export const passkeys = {
  title: 'Passkeys',
  about:
    'A passkey signs you in with the fingerprint, face or PIN of your device, without password and code. It works on this address only, so a false page cannot ask for it.',
  off: 'Passkeys need a host name in the address of the panel. This installation has only a number there.',
  name: 'Name',
  nameHint: 'So that you recognize it later, for example “Office laptop”.',
  nameProblem: 'Give it a name of at most 60 characters.',
  created: 'Added',
  used: 'Last used',
  never: 'Never',
  add: 'Add a passkey',
  intro: 'Your browser asks where to store it: on this device, on a phone nearby or on a security key.',
  go: 'Continue',
  create: 'Create the passkey',
  createText: (name: string) => `Follow the instructions of your browser for “${name}”.`,
  added: (name: string) => `The passkey “${name}” was added. Your other sessions have ended.`,
  notAdded: 'The passkey was not added, most often because it took too long. Try again.',
  tooMany: 'This account has 20 passkeys. Remove one that you do not use.',
  rename: 'Rename',
  renameNow: 'Save the name',
  renameTitle: (name: string) => `Rename the passkey “${name}”`,
  renamed: (name: string) => `The passkey is now called “${name}”.`,
  remove: 'Remove…',
  removeNow: 'Remove the passkey',
  removeTitle: (name: string) => `Remove the passkey “${name}”?`,
  removeText:
    'You cannot sign in with it any more, and your other sessions that were opened with a passkey end. Your device may still offer it: delete it there too.',
  removed: 'The passkey was removed. Your other sessions that were opened with a passkey have ended.',
  signIn: 'Sign in with a passkey',
  signInText: 'Your browser asks for your passkey.',
  use: 'Use my passkey',
  again: 'Try again',
  refused: 'This passkey was not accepted: it was removed, it took too long, or the account is disabled.',
  needsScript: 'Passkeys need JavaScript. Sign in with your password instead.',
  notGiven: 'The browser gave no passkey. Press the button to try again.',
  removeAll: 'Remove all passkeys',
  ask: {
    title: (email: string) => `Remove all passkeys of ${email}?`,
    text: 'Every session of this account ends. Its other ways to sign in stay as they are: password, one-time link or provider.',
  },
  removedAll: (email: string) => `The passkeys of ${email} were removed, and every session has ended.`,
};

export const factor = {
  title: 'Required second factor',
  about:
    'Users of these roles sign in with one-time codes or with a passkey. A user who has neither must add one before any other page opens.',
  rolesTitle: 'Required for',
  saved: 'The required second factor is saved.',
  askTitle: 'Require a second factor for more roles?',
  askText:
    'Users of these roles who have neither one-time codes nor a passkey can open nothing but the page that adds one, also in sessions that are open:',
  neededTitle: 'Add a second factor',
  needed: (role: string) =>
    `The role “${role}” needs a second factor in this installation. Every other page opens when you have added one.`,
  usePasskeyTitle: 'Sign in with your passkey',
  usePasskey:
    'Your role needs a second factor. Your account has a passkey: sign in with it. If you have lost it, ask an administrator to remove it.',
};

export const notices = {
  title: 'Notices',
  about:
    'Orderpass sends each notice shortly after it happens. Where the receiving server gives no answer, it sends the notice again.',
  none: 'You get no notices.',
  notSent: 'None of these is sent: choose an address for them, or mail if this installation sends mail.',
  change: 'Change notices',
  which: 'Send me a notice when',
  kinds: {
    endpoint_disabled: 'a webhook endpoint was disabled because its receiver failed',
    key_ending: 'an API key ends within 7 days',
    credential_ending: 'the last secret or certificate of an API client ends within 7 days',
    leak_reported: 'a credential was reported as leaked and ended',
    refusals: 'unusually many requests are refused',
    audit_broken: 'the audit was changed',
  },
  where: 'Where',
  mail: (email: string) => `By mail to ${email}`,
  mailOff: 'This installation has no mail server, so no mail is sent until it has one.',
  url: 'At this address (webhook)',
  urlHint:
    'A JSON object with “text” and “data” is posted to it, signed with a secret that is shown once. Leave it empty to keep what is stored.',
  urlProblem: 'Nothing can be posted to this address: it must begin with https:// and lead to a public host.',
  stored: (origin: string) => `An address at ${origin} is stored.`,
  remove: 'Remove the stored address',
  saved: 'Your notices are saved.',
  signature: 'Signature',
  signed:
    'Everything that is posted to the address is signed as Standard Webhooks: webhook-id, webhook-timestamp, and a v1 signature in webhook-signature, made with the secret. Your receiver verifies it with any library for Standard Webhooks, or with the code of the guide.',
  unsigned: 'This address has no secret yet, so what is posted to it is not signed. Create one.',
  previousUntil: 'The secret before the present one still signs, beside it, until',
  verify: 'How to verify the signature',
  rotate: 'Create a new secret',
  rotateText: 'The present secret signs beside the new one for 24 hours; give the new one to your receiver meanwhile.',
  overlapBlocks:
    'The secret before the present one still signs, so no other one is created. If the present one is lost or leaked, enter the address again: it gets a new secret, and both of these end at once.',
  secretTitle: 'The secret is ready',
  secretFor: 'Secret that signs your notices',
  secretText: 'Copy it now: it is not shown again. Your receiver verifies the signature of every notice with it.',
  secretSaved: 'I have saved it: back to the account',
};
