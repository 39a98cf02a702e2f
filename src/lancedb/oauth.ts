/** Credentials for OAuth tokens. */

/** Ways to get a token. */
export enum OAuthFlowType {
  /** Client credentials, from service to service. */
  ClientCredentials = "client_credentials",
  /** The managed identity of a machine in Azure. */
  AzureManagedIdentity = "azure_managed_identity",
}

/** Credentials for OAuth tokens. */
export interface OAuthConfig {
  /** URL of the token's issuer. */
  issuerUrl: string;
  /** Identifier of the client. */
  clientId: string;
  /** Scopes of the token; exactly one for a managed identity. */
  scopes: string[];
  /** Way to get a token; `ClientCredentials` by default. */
  flow?: OAuthFlowType;
  /** Secret of the client, which `ClientCredentials` needs. */
  clientSecret?: string;
  /** Identifier of a managed identity that a user assigned. */
  managedIdentityClientId?: string;
  /** Seconds before the end of a token at which a new one is fetched; 300 by default. */
  refreshBufferSecs?: number;
}
