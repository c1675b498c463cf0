/** Paths of the pages about accounts. */

export const usersPath = '/panel/users';

export const userPath = (userId: string): string => `${usersPath}/${encodeURIComponent(userId)}`;
