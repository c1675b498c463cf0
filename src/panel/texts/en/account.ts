/** Texts of the user's own account. */
export const account = {
  title: 'Account',
  role: 'Role',
};
