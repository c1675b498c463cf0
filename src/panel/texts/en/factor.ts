/** Texts of the roles that need a second factor. */
export const factor = {
  title: 'Required second factor',
  about:
    'Users of these roles sign in with one-time codes or with a passkey. A user who has neither must add one before any other page opens.',
  rolesTitle: 'Required for',
  saved: 'The required second factor is saved.',
  neededTitle: 'Add a second factor',
  needed: (role: string) =>
    `The role “${role}” needs a second factor in this installation. Every other page opens when you have added one.`,
  usePasskeyTitle: 'Sign in with your passkey',
  usePasskey:
    'Your role needs a second factor. Your account has a passkey: sign in with it. If you have lost it, ask an administrator to remove it.',
};
