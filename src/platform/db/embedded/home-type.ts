/** Name of the folder of a cluster, unless a link in the data folder leads to another one. */
export const clusterName = 'postgres';

/** Where a cluster lives: the folder with its lock, and the folder of PostgreSQL's own files in it. */
export type Home = { folder: string; cluster: string };
