/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
export type ApiPermissionInput =
  {   category: PermissionCategory; operation?: never; }
  |  { category?: never;   operation: OperationPermissionInput; };

export type ArgsLaunchInput = {
  args?: Array<string>;
};

export type BestTermsInput =
  {   interruptible: InterruptibleTermsInput; onDemand?: never; }
  |  { interruptible?: never;   onDemand: CappedTermsInput; };

export type BulkErrorPolicy =
  | 'REJECT_EVERYTHING'
  | 'REJECT_FAILED_ITEMS';

export type BulkItemOutcome =
  | 'APPLIED'
  | 'FAILED'
  | 'SKIPPED'
  | 'UNCHANGED';

export type CappedTermsInput = {
  maxPricePerHour: string;
};

export type ConfigSource =
  | 'ACCOUNT'
  | 'DEFAULT'
  | 'REQUEST'
  | 'TEMPLATE';

export type ConstraintOperator =
  | 'EQ'
  | 'GTE'
  | 'LTE';

export type ConstraintValueInput =
  {   boolean: boolean; id?: never; number?: never; text?: never; }
  |  { boolean?: never;   id: string; number?: never; text?: never; }
  |  { boolean?: never; id?: never;   number: number; text?: never; }
  |  { boolean?: never; id?: never; number?: never;   text: string; };

export type CreateApiKeyInput = {
  expiresAt?: string | null | undefined;
  fullAccess?: boolean;
  idempotencyKey?: string | null | undefined;
  name?: string | null | undefined;
  permissions?: Array<ApiPermissionInput> | null | undefined;
};

export type CreateSshKeyInput = {
  idempotencyKey?: string | null | undefined;
  instanceIds?: Array<string>;
  name?: string | null | undefined;
  publicKey: string;
};

export type CreateTemplateInput = {
  description?: string | null | undefined;
  diskGb?: number | null | undefined;
  env?: Array<EnvVarInput>;
  hostname?: string | null | undefined;
  idempotencyKey?: string | null | undefined;
  image: string;
  mode?: LaunchModeInput | null | undefined;
  name: string;
  onStart?: string | null | undefined;
  ports?: Array<PortMappingInput>;
  public?: boolean;
  readme?: string | null | undefined;
  registry?: RegistryCredentialInput | null | undefined;
  volumeHint?: VolumeHintInput | null | undefined;
};

export type CreateVolumeInput = {
  idempotencyKey?: string | null | undefined;
  maxPricePerHour?: string | null | undefined;
  name?: string | null | undefined;
  offerId: string;
  sizeGb: number;
};

export type DateTimeFilter = {
  gt?: string | null | undefined;
  gte?: string | null | undefined;
  lt?: string | null | undefined;
  lte?: string | null | undefined;
};

export type DeleteApiKeyInput = {
  force?: boolean;
  id: string;
  keepInstanceKeys?: boolean;
};

export type DeleteVolumeInput = {
  id: string;
};

export type DestroyInstancesInput = {
  dryRun?: boolean;
  errorPolicy?: BulkErrorPolicy;
  expectedCount?: number | null | undefined;
  target: InstanceTargetInput;
};

export type EnvVarInput = {
  name: string;
  secret?: boolean;
  value?: string | null | undefined;
};

export type ErrorCode =
  | 'BID_TOO_LOW'
  | 'CONFLICT'
  | 'FORBIDDEN'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'INSUFFICIENT_CREDIT'
  | 'INVALID_INPUT'
  | 'INVALID_STATE'
  | 'NOT_FOUND'
  | 'NO_OFFER_RENTED'
  | 'OFFER_UNAVAILABLE'
  | 'PRICE_CHANGED'
  | 'QUOTA_EXCEEDED'
  | 'SPEND_LIMIT_EXCEEDED'
  | 'SSH_KEY_REQUIRED'
  | 'START_BACKOFF'
  | 'VOLUME_UNAVAILABLE';

export type EventKind =
  | 'ACCOUNT_CREDIT_ENDED'
  | 'ACCOUNT_DEBT'
  | 'ACCOUNT_DISABLED'
  | 'ACCOUNT_ENABLED'
  | 'ACCOUNT_LOW_CREDIT'
  | 'ACCOUNT_QUOTAS_CHANGED'
  | 'ACCOUNT_SPEND_LIMIT'
  | 'API_KEY_CREATED'
  | 'API_KEY_DELETED'
  | 'API_KEY_SECRET_ROTATED'
  | 'API_KEY_UPDATED'
  | 'CREDIT_GRANTED'
  | 'INSTANCE_BID_CHANGED'
  | 'INSTANCE_CREATED'
  | 'INSTANCE_DESTROYED'
  | 'INSTANCE_ENDING'
  | 'INSTANCE_GRANTED'
  | 'INSTANCE_LABEL_CHANGED'
  | 'INSTANCE_LAUNCH_CHANGED'
  | 'INSTANCE_OUTBID'
  | 'INSTANCE_POLICY_CHANGED'
  | 'INSTANCE_REBOOTED'
  | 'INSTANCE_RECYCLED'
  | 'INSTANCE_REMOVED'
  | 'INSTANCE_REPLACED'
  | 'INSTANCE_SSH_KEYS_CHANGED'
  | 'INSTANCE_STATUS_CHANGED'
  | 'INSTANCE_TARGET_CHANGED'
  | 'SECRET_VARIABLE_DELETED'
  | 'SECRET_VARIABLE_UPDATED'
  | 'SPEND_LIMIT_CREATED'
  | 'SPEND_LIMIT_DELETED'
  | 'SPEND_LIMIT_UPDATED'
  | 'SSH_KEY_CREATED'
  | 'SSH_KEY_DELETED'
  | 'SSH_KEY_UPDATED'
  | 'TEMPLATE_CREATED'
  | 'TEMPLATE_DELETED'
  | 'TEMPLATE_UPDATED'
  | 'VOLUME_CREATED'
  | 'VOLUME_DELETED'
  | 'VOLUME_UPDATED'
  | 'WEBHOOK_CREATED'
  | 'WEBHOOK_DELETED'
  | 'WEBHOOK_SECRET_ROTATED'
  | 'WEBHOOK_TESTED'
  | 'WEBHOOK_UPDATED';

export type FloatFilter = {
  eq?: number | null | undefined;
  gt?: number | null | undefined;
  gte?: number | null | undefined;
  in?: Array<number> | null | undefined;
  lt?: number | null | undefined;
  lte?: number | null | undefined;
  neq?: number | null | undefined;
  nin?: Array<number> | null | undefined;
};

export type GpuVendor =
  | 'AMD'
  | 'NVIDIA';

export type IdFilter = {
  eq?: string | null | undefined;
  in?: Array<string> | null | undefined;
  neq?: string | null | undefined;
  nin?: Array<string> | null | undefined;
};

export type IdlePolicyInput = {
  forSeconds: number;
  gpuBelowPercent: number;
};

export type InstanceAction =
  | 'DESTROY'
  | 'REBOOT'
  | 'RECYCLE'
  | 'START'
  | 'STOP'
  | 'UPDATE_BID';

export type InstanceChangeKind =
  | 'ADDED'
  | 'REMOVED'
  | 'UPDATED';

export type InstanceFilter = {
  createdAt?: DateTimeFilter | null | undefined;
  gpuName?: StringFilter | null | undefined;
  idempotencyKey?: string | null | undefined;
  ids?: Array<string> | null | undefined;
  label?: StringFilter | null | undefined;
  machineId?: IdFilter | null | undefined;
  numGpus?: IntFilter | null | undefined;
  rentalKind?: RentalKind | null | undefined;
  status?: Array<InstanceStatus> | null | undefined;
  targetState?: TargetState | null | undefined;
  templateHashId?: string | null | undefined;
  templateId?: string | null | undefined;
};

export type InstanceKind =
  | 'CONTAINER'
  | 'VM';

export type InstancePolicyInput = {
  destroyAfterStoppedSeconds?: number | null | undefined;
  destroyAt?: string | null | undefined;
  stopAt?: string | null | undefined;
  stopAtCost?: string | null | undefined;
  stopWhenIdle?: IdlePolicyInput | null | undefined;
};

export type InstanceSpecInput = {
  diskGb?: number | null | undefined;
  env?: Array<EnvVarInput>;
  hostname?: string | null | undefined;
  kind?: InstanceKind;
  label?: string | null | undefined;
  mode?: LaunchModeInput | null | undefined;
  onStart?: string | null | undefined;
  policy?: InstancePolicyInput | null | undefined;
  ports?: Array<PortMappingInput>;
  registry?: RegistryCredentialInput | null | undefined;
  source: LaunchSourceInput;
  targetState?: TargetState;
  volumes?: Array<VolumeMountInput>;
};

export type InstanceStatus =
  | 'CREATED'
  | 'DESTROYED'
  | 'EXITED'
  | 'LOADING'
  | 'OFFLINE'
  | 'RUNNING'
  | 'SCHEDULING'
  | 'STOPPED'
  | 'STOPPING'
  | 'UNKNOWN';

export type InstanceTargetInput =
  {   filter: InstanceFilter; ids?: never; }
  |  { filter?: never;   ids: Array<string>; };

export type IntFilter = {
  eq?: number | null | undefined;
  gt?: number | null | undefined;
  gte?: number | null | undefined;
  in?: Array<number> | null | undefined;
  lt?: number | null | undefined;
  lte?: number | null | undefined;
  neq?: number | null | undefined;
  nin?: Array<number> | null | undefined;
};

export type InterruptibleTermsInput = {
  bidPerHour: string;
};

export type JupyterLaunchInput = {
  direct?: boolean;
  directory?: string | null | undefined;
  lab?: boolean;
};

export type LaunchModeInput =
  {   args: ArgsLaunchInput; jupyter?: never; ssh?: never; }
  |  { args?: never;   jupyter: JupyterLaunchInput; ssh?: never; }
  |  { args?: never; jupyter?: never;   ssh: SshLaunchInput; };

export type LaunchSourceInput =
  {   image: string; template?: never; }
  |  { image?: never;   template: TemplateSourceInput; };

export type LogSource =
  | 'MACHINE'
  | 'STDERR'
  | 'STDOUT';

export type NewVolumeInput = {
  name?: string | null | undefined;
  sizeGb: number;
};

export type OfferAvailability =
  | 'ANY'
  | 'AVAILABLE'
  | 'UNAVAILABLE';

export type OfferFacetField =
  | 'CITY'
  | 'COUNTRY'
  | 'CPU_ARCH'
  | 'DATACENTER'
  | 'GPU_NAME'
  | 'GPU_RAM_GB'
  | 'GPU_VENDOR'
  | 'NUM_GPUS'
  | 'REGION'
  | 'STATIC_IP'
  | 'VERIFICATION'
  | 'VMS_ENABLED';

export type OfferFilter = {
  availability?: OfferAvailability | null | undefined;
  availableSeconds?: FloatFilter | null | undefined;
  city?: StringFilter | null | undefined;
  computeCapability?: VersionFilter | null | undefined;
  country?: StringFilter | null | undefined;
  cpuArch?: StringFilter | null | undefined;
  cpuCores?: IntFilter | null | undefined;
  cpuCoresEffective?: FloatFilter | null | undefined;
  cpuGhz?: FloatFilter | null | undefined;
  cpuRamGb?: FloatFilter | null | undefined;
  cpuRamMb?: IntFilter | null | undefined;
  cudaVersion?: VersionFilter | null | undefined;
  datacenter?: boolean | null | undefined;
  diskPricePerGbMonth?: UsdFilter | null | undefined;
  diskPricePerHour?: UsdFilter | null | undefined;
  diskReadMegabytesPerSecond?: FloatFilter | null | undefined;
  dlperf?: FloatFilter | null | undefined;
  dlperfPerDollar?: FloatFilter | null | undefined;
  downloadMbps?: FloatFilter | null | undefined;
  downloadPricePerGb?: UsdFilter | null | undefined;
  driverVersion?: VersionFilter | null | undefined;
  freeDiskGb?: FloatFilter | null | undefined;
  freePorts?: IntFilter | null | undefined;
  gpuDisplayActive?: boolean | null | undefined;
  gpuFraction?: FloatFilter | null | undefined;
  gpuLanes?: IntFilter | null | undefined;
  gpuMaxPowerWatts?: FloatFilter | null | undefined;
  gpuMaxTempCelsius?: FloatFilter | null | undefined;
  gpuMemoryBandwidthGigabytesPerSecond?: FloatFilter | null | undefined;
  gpuName?: StringFilter | null | undefined;
  gpuPricePerHour?: UsdFilter | null | undefined;
  gpuRamGb?: FloatFilter | null | undefined;
  gpuRamMb?: IntFilter | null | undefined;
  gpuTotalRamMb?: IntFilter | null | undefined;
  gpuVendor?: Array<GpuVendor> | null | undefined;
  hasAvx?: boolean | null | undefined;
  hostId?: IdFilter | null | undefined;
  limitsDisk?: boolean | null | undefined;
  machineId?: IdFilter | null | undefined;
  maxDiskGb?: FloatFilter | null | undefined;
  minimumBidPerHour?: UsdFilter | null | undefined;
  motherboard?: StringFilter | null | undefined;
  numGpus?: IntFilter | null | undefined;
  nvlinkGigabytesPerSecond?: FloatFilter | null | undefined;
  or?: Array<OfferFilter> | null | undefined;
  osVersion?: VersionFilter | null | undefined;
  pciGeneration?: FloatFilter | null | undefined;
  pcieGigabytesPerSecond?: FloatFilter | null | undefined;
  pricePerGpuHour?: UsdFilter | null | undefined;
  pricePerHour?: UsdFilter | null | undefined;
  region?: Array<Region> | null | undefined;
  reliability?: FloatFilter | null | undefined;
  score?: FloatFilter | null | undefined;
  staticIp?: boolean | null | undefined;
  tflops?: FloatFilter | null | undefined;
  tflopsPerDollar?: FloatFilter | null | undefined;
  totalDiskGb?: FloatFilter | null | undefined;
  uploadMbps?: FloatFilter | null | undefined;
  uploadPricePerGb?: UsdFilter | null | undefined;
  verification?: Array<VerificationStatus> | null | undefined;
  verified?: boolean | null | undefined;
  vmsEnabled?: boolean | null | undefined;
};

export type OfferOrder = {
  direction?: OrderDirection;
  field: OfferOrderField;
};

export type OfferOrderField =
  | 'COMPUTE_CAPABILITY'
  | 'CPU_CORES'
  | 'CPU_CORES_EFFECTIVE'
  | 'CPU_GHZ'
  | 'CPU_RAM_GB'
  | 'CPU_RAM_MB'
  | 'CUDA_VERSION'
  | 'DISK_PRICE_PER_GB_MONTH'
  | 'DISK_PRICE_PER_HOUR'
  | 'DISK_READ_MEGABYTES_PER_SECOND'
  | 'DLPERF'
  | 'DLPERF_PER_DOLLAR'
  | 'DOWNLOAD_MBPS'
  | 'DOWNLOAD_PRICE_PER_GB'
  | 'DRIVER_VERSION'
  | 'FREE_DISK_GB'
  | 'FREE_PORTS'
  | 'GPU_FRACTION'
  | 'GPU_LANES'
  | 'GPU_MAX_POWER_WATTS'
  | 'GPU_MAX_TEMP_CELSIUS'
  | 'GPU_MEMORY_BANDWIDTH_GIGABYTES_PER_SECOND'
  | 'GPU_PRICE_PER_HOUR'
  | 'GPU_RAM_GB'
  | 'GPU_RAM_MB'
  | 'GPU_TOTAL_RAM_MB'
  | 'LISTED_AT'
  | 'LISTED_UNTIL'
  | 'MAX_DISK_GB'
  | 'MINIMUM_BID_PER_HOUR'
  | 'NUM_GPUS'
  | 'NVLINK_GIGABYTES_PER_SECOND'
  | 'OS_VERSION'
  | 'PCIE_GIGABYTES_PER_SECOND'
  | 'PCI_GENERATION'
  | 'PRICE_PER_GPU_HOUR'
  | 'PRICE_PER_HOUR'
  | 'RELIABILITY'
  | 'SCORE'
  | 'TFLOPS'
  | 'TFLOPS_PER_DOLLAR'
  | 'TOTAL_DISK_GB'
  | 'UPLOAD_MBPS'
  | 'UPLOAD_PRICE_PER_GB';

export type OfferPricingInput = {
  diskGb?: number;
  rentalKind?: RentalKind;
};

export type OnDemandTermsInput = {
  maxPricePerHour?: string | null | undefined;
};

export type OperationPermissionInput = {
  constraints?: Array<PermissionConstraintInput>;
  operation: PermissionOperation;
};

export type OrderDirection =
  | 'ASC'
  | 'DESC';

export type PermissionCategory =
  | 'BILLING_READ'
  | 'BILLING_WRITE'
  | 'INSTANCE_READ'
  | 'INSTANCE_WRITE'
  | 'MACHINE_READ'
  | 'MACHINE_WRITE'
  | 'MARKET_READ'
  | 'TEAM_READ'
  | 'TEAM_WRITE'
  | 'USER_READ'
  | 'USER_WRITE';

export type PermissionConstraintInput = {
  operator: ConstraintOperator;
  parameter: string;
  value: ConstraintValueInput;
};

export type PermissionOperation =
  | 'ACCOUNT'
  | 'API_KEYS'
  | 'ATTACH_SSH_KEY'
  | 'CHANGE_INSTANCE_LAUNCH'
  | 'CREATE_API_KEY'
  | 'CREATE_SSH_KEY'
  | 'CREATE_VOLUME'
  | 'CREATE_WEBHOOK'
  | 'DELETE_API_KEY'
  | 'DELETE_SECRET_VARIABLES'
  | 'DELETE_SPEND_LIMIT'
  | 'DELETE_SSH_KEY'
  | 'DELETE_TEMPLATE'
  | 'DELETE_VOLUME'
  | 'DELETE_WEBHOOK'
  | 'DESTROY_INSTANCE'
  | 'DETACH_SSH_KEY'
  | 'EVENTS'
  | 'EVENTS_SUBSCRIPTION'
  | 'EXECUTE_COMMAND'
  | 'GPU_MODELS'
  | 'HOSTED_MACHINES'
  | 'INSTANCE'
  | 'INSTANCES'
  | 'INSTANCE_CHANGES'
  | 'INSTANCE_EVENTS'
  | 'INSTANCE_LOGS'
  | 'INSTANCE_METRICS'
  | 'LEDGER'
  | 'MACHINE'
  | 'OFFER'
  | 'OFFERS'
  | 'OFFER_CHANGES'
  | 'OWN_TEMPLATES'
  | 'REBOOT_INSTANCE'
  | 'RECYCLE_INSTANCE'
  | 'RENT_INSTANCE'
  | 'RENT_QUOTE'
  | 'ROTATE_API_KEY_SECRET'
  | 'ROTATE_WEBHOOK_SECRET'
  | 'SECRET_VARIABLES'
  | 'SPEND_LIMITS'
  | 'SSH_KEYS'
  | 'TEMPLATE'
  | 'TEMPLATES'
  | 'TEST_WEBHOOK'
  | 'UPDATE_API_KEY'
  | 'UPDATE_INSTANCE'
  | 'UPDATE_INSTANCE_BID'
  | 'UPDATE_INSTANCE_POLICY'
  | 'UPDATE_SECRET_VARIABLES'
  | 'UPDATE_SPEND_LIMIT'
  | 'UPDATE_SSH_KEY'
  | 'UPDATE_TEMPLATE'
  | 'UPDATE_VOLUME'
  | 'UPDATE_WEBHOOK'
  | 'USAGE'
  | 'VOLUME'
  | 'VOLUMES'
  | 'VOLUME_OFFERS'
  | 'WEBHOOKS';

export type PortMappingInput = {
  containerPort: number;
  hostPort?: number | null | undefined;
  protocol?: PortProtocol;
};

export type PortProtocol =
  | 'TCP'
  | 'UDP';

export type ReasonCode =
  | 'ACCOUNT_DISABLED'
  | 'ALREADY_RESTARTING'
  | 'ALREADY_RUNNING'
  | 'ALREADY_STOPPED'
  | 'CONTAINER_GONE'
  | 'CONTAINER_LOST'
  | 'COST_LIMIT'
  | 'DEBT'
  | 'DESTROYED'
  | 'EXITED'
  | 'FIXED_PRICE'
  | 'GPUS_FREE'
  | 'HOST_OFFLINE'
  | 'HOST_UNREACHABLE'
  | 'IDLE'
  | 'IMAGE_PULL_FAILED'
  | 'MACHINE_ERROR'
  | 'NOT_REPLACED'
  | 'NOT_RUNNING'
  | 'NO_CONTAINER'
  | 'NO_CREDIT'
  | 'ON_DEMAND'
  | 'OPERATOR_REQUEST'
  | 'OUTBID'
  | 'PULLING'
  | 'REBOOTING'
  | 'RECYCLING'
  | 'RENTAL_ENDED'
  | 'REPLACED'
  | 'SCHEDULE'
  | 'SPEND_LIMIT'
  | 'STARTED'
  | 'STARTING'
  | 'START_FAILED'
  | 'START_TIMEOUT'
  | 'STOP_REQUESTED'
  | 'TERMINAL'
  | 'USER_REQUEST'
  | 'WAITING_FOR_GPUS';

export type Region =
  | 'AFRICA'
  | 'ASIA'
  | 'EUROPE'
  | 'MIDDLE_EAST'
  | 'NORTH_AMERICA'
  | 'OCEANIA'
  | 'SOUTH_AMERICA';

export type RegistryCredentialInput = {
  host: string;
  password?: string | null | undefined;
  username: string;
};

export type RentBestOfferInput = {
  filter: OfferFilter;
  idempotencyKey?: string | null | undefined;
  maxAttempts?: number;
  orderBy?: Array<OfferOrder>;
  replace?: ReplaceInput | null | undefined;
  spec: InstanceSpecInput;
  terms: BestTermsInput;
};

export type RentInstanceInput = {
  failIfUnavailable?: boolean;
  idempotencyKey?: string | null | undefined;
  offerId: string;
  spec: InstanceSpecInput;
  terms?: RentalTermsInput;
};

export type RentalKind =
  | 'INTERRUPTIBLE'
  | 'ON_DEMAND';

export type RentalTermsInput =
  {   interruptible: InterruptibleTermsInput; onDemand?: never; }
  |  { interruptible?: never;   onDemand: OnDemandTermsInput; };

export type ReplaceInput = {
  attempts?: number;
  within: string;
};

export type RetryAdvice =
  | 'AFTER_FIX'
  | 'LATER'
  | 'NEVER';

export type SshLaunchInput = {
  direct?: boolean;
};

export type StringFilter = {
  contains?: string | null | undefined;
  eq?: string | null | undefined;
  in?: Array<string> | null | undefined;
  neq?: string | null | undefined;
  nin?: Array<string> | null | undefined;
  startsWith?: string | null | undefined;
};

export type TargetState =
  | 'RUNNING'
  | 'STOPPED';

export type TemplateByInput =
  {   hashId: string; id?: never; name?: never; }
  |  { hashId?: never;   id: string; name?: never; }
  |  { hashId?: never; id?: never;   name: string; };

export type TemplateSourceInput = {
  by: TemplateByInput;
  image?: string | null | undefined;
};

export type UpdateInstanceBidInput = {
  bidPerHour: string;
  id: string;
};

export type UpdateTemplateInput = {
  description?: string | null | undefined;
  diskGb?: number | null | undefined;
  env?: Array<EnvVarInput> | null | undefined;
  expectedHashId?: string | null | undefined;
  hostname?: string | null | undefined;
  id: string;
  idempotencyKey?: string | null | undefined;
  image?: string | null | undefined;
  mode?: LaunchModeInput | null | undefined;
  name?: string | null | undefined;
  onStart?: string | null | undefined;
  ports?: Array<PortMappingInput> | null | undefined;
  public?: boolean | null | undefined;
  readme?: string | null | undefined;
  registry?: RegistryCredentialInput | null | undefined;
  volumeHint?: VolumeHintInput | null | undefined;
};

export type UsdFilter = {
  eq?: string | null | undefined;
  gt?: string | null | undefined;
  gte?: string | null | undefined;
  in?: Array<string> | null | undefined;
  lt?: string | null | undefined;
  lte?: string | null | undefined;
  neq?: string | null | undefined;
  nin?: Array<string> | null | undefined;
};

export type VerificationStatus =
  | 'DEVERIFIED'
  | 'UNVERIFIED'
  | 'VERIFIED';

export type VersionFilter = {
  eq?: string | null | undefined;
  gt?: string | null | undefined;
  gte?: string | null | undefined;
  in?: Array<string> | null | undefined;
  lt?: string | null | undefined;
  lte?: string | null | undefined;
  neq?: string | null | undefined;
  nin?: Array<string> | null | undefined;
};

export type VolumeHintInput = {
  mountPath: string;
  sizeGb?: number | null | undefined;
};

export type VolumeMountInput = {
  mountPath?: string;
  source: VolumeSourceInput;
};

export type VolumeSourceInput =
  {   create: NewVolumeInput; volumeId?: never; }
  |  { create?: never;   volumeId: string; };

export type ViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type ViewerQuery = { viewer: { account: { id: string, email: string, credit: string, sshKeys: Array<{ id: string, fingerprint: string }> | null, apiKeys: Array<{ id: string, name: string, current: boolean, permissions: Array<{ category: PermissionCategory | null, operation: { operation: PermissionOperation, constraints: Array<{ parameter: string, operator: ConstraintOperator, value: { id: string | null, number: number | null, boolean: boolean | null } }> } | null }> | null }> | null } | null } };

export type RegisterSshKeyMutationVariables = Exact<{
  input: CreateSshKeyInput;
}>;


export type RegisterSshKeyMutation = { createSshKey:
    | { __typename: 'ConflictError', id: string | null, code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'CreateSshKeySuccess', replayed: boolean, sshKey: { id: string, name: string, fingerprint: string } }
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
    | { __typename: 'InvalidStateError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
   | null };

export type CreateApiKeyMutationVariables = Exact<{
  input: CreateApiKeyInput;
}>;


export type CreateApiKeyMutation = { createApiKey:
    | { __typename: 'ConflictError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'CreateApiKeySuccess', secret: string, apiKey: { id: string, prefix: string, permissions: Array<{ category: PermissionCategory | null, operation: { operation: PermissionOperation } | null }> | null } }
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
   | null };

export type RevokeApiKeyMutationVariables = Exact<{
  input: DeleteApiKeyInput;
}>;


export type RevokeApiKeyMutation = { deleteApiKey:
    | { __typename: 'DeleteApiKeySuccess', deletedId: string }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
   | null };

type Refusal_BidTooLowError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_ConflictError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_ForbiddenError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_IdempotencyError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_InsufficientCreditError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_InvalidInputError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_InvalidStateError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_NoOfferRentedError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_NotFoundError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_OfferUnavailableError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_PriceChangedError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_QuotaExceededError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_SpendLimitExceededError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_SshKeyRequiredError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_StartBackoffError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

type Refusal_VolumeUnavailableError_Fragment = { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null };

export type RefusalFragment =
  | Refusal_BidTooLowError_Fragment
  | Refusal_ConflictError_Fragment
  | Refusal_ForbiddenError_Fragment
  | Refusal_IdempotencyError_Fragment
  | Refusal_InsufficientCreditError_Fragment
  | Refusal_InvalidInputError_Fragment
  | Refusal_InvalidStateError_Fragment
  | Refusal_NoOfferRentedError_Fragment
  | Refusal_NotFoundError_Fragment
  | Refusal_OfferUnavailableError_Fragment
  | Refusal_PriceChangedError_Fragment
  | Refusal_QuotaExceededError_Fragment
  | Refusal_SpendLimitExceededError_Fragment
  | Refusal_SshKeyRequiredError_Fragment
  | Refusal_StartBackoffError_Fragment
  | Refusal_VolumeUnavailableError_Fragment
;

export type InvalidInputFragment = { issues: Array<{ path: string, message: string }> };

export type OfferUnavailableFragment = { yourInstance: { id: string } | null, alternatives: Array<{ id: string, price: { pricePerHour: string } }> };

export type SearchWithFacetsQueryVariables = Exact<{
  filter: OfferFilter;
  first: number;
}>;


export type SearchWithFacetsQuery = { offers: { totalCount: number, facets: Array<{ field: OfferFacetField, values: Array<{ value: string, count: number, minimumPricePerHour: string }> }> | null, nodes: Array<{ id: string, gpuName: string, numGpus: number, gpuRamGb: number, price: { pricePerHour: string, pricePerGpuHour: string }, machine: { city: string, region: Region | null, reliability: number } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type QuoteRentalQueryVariables = Exact<{
  input: RentInstanceInput;
}>;


export type QuoteRentalQuery = { rentQuote: { rentable: boolean, waits: boolean, pricePerHour: string | null, runwaySecondsAfter: number | null, blockers: Array<
      | { __typename: 'BidTooLowError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'ConflictError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'ForbiddenError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'InsufficientCreditError', available: string, needed: string | null, code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
      | { __typename: 'InvalidStateError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'NoOfferRentedError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'OfferUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'PriceChangedError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'QuotaExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'SpendLimitExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'SshKeyRequiredError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'StartBackoffError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'VolumeUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    > } | null };

export type RentOfferMutationVariables = Exact<{
  input: RentInstanceInput;
}>;


export type RentOfferMutation = { rentInstance:
    | { __typename: 'BidTooLowError', hostMinimumBidPerHour: string, code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InsufficientCreditError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'OfferUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, yourInstance: { id: string } | null, alternatives: Array<{ id: string, price: { pricePerHour: string } }> }
    | { __typename: 'PriceChangedError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'QuotaExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'RentInstanceSuccess', replayed: boolean, instance: { id: string, status: InstanceStatus, costPerHour: string } }
    | { __typename: 'SpendLimitExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'SshKeyRequiredError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'StartBackoffError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'VolumeUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
   | null };

export type WatchFleetSubscriptionVariables = Exact<{
  filter?: InstanceFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type WatchFleetSubscription = { instanceChanges:
    | { __typename: 'InstanceChange', kind: InstanceChangeKind, instanceId: string, cursor: string, instance: { label: string | null, status: InstanceStatus, targetState: TargetState, costPerHour: string } }
    | { __typename: 'InstancesSynced', cursor: string }
   };

export type StopByLabelMutationVariables = Exact<{
  prefix: string;
  dryRun: boolean;
  expectedCount?: number | null | undefined;
}>;


export type StopByLabelMutation = { stopInstances:
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'StopInstancesSuccess', matchedCount: number, failedCount: number, items: Array<{ instanceId: string, outcome: BulkItemOutcome, instance: { label: string | null, targetState: TargetState } | null, error:
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
         | null }> }
   | null };

export type LastLogLinesQueryVariables = Exact<{
  filter?: InstanceFilter | null | undefined;
}>;


export type LastLogLinesQuery = { instances: { totalCount: number, nodes: Array<{ id: string, label: string | null, status: InstanceStatus, logs: Array<{ printedAt: string, source: LogSource, text: string }> | null }> } | null };

export type SpendByLabelQueryVariables = Exact<{
  startsAt: string;
  endsAt: string;
}>;


export type SpendByLabelQuery = { viewer: { account: { usage: { cost: string, totals: Array<{ cost: string, keys: Array<
            | { __typename: 'ApiKeyUsageKey' }
            | { __typename: 'GpuModelUsageKey' }
            | { __typename: 'InstanceUsageKey' }
            | { __typename: 'KindUsageKey' }
            | { __typename: 'LabelUsageKey', label: string | null }
            | { __typename: 'TemplateUsageKey' }
            | { __typename: 'VolumeUsageKey' }
          > }> } | null } | null } };

export type CreateConstrainedKeyMutationVariables = Exact<{
  name: string;
  instanceId: string;
  expiresAt: string;
}>;


export type CreateConstrainedKeyMutation = { createApiKey:
    | { __typename: 'ConflictError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'CreateApiKeySuccess', secret: string, apiKey: { id: string, expiresAt: string | null, permissions: Array<{ operation: { operation: PermissionOperation, constraints: Array<{ parameter: string, operator: ConstraintOperator, value: { id: string | null } }> } | null }> | null } }
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
   | null };

export type CreateWebhookMutationVariables = Exact<{
  name: string;
  url: string;
  kinds: Array<EventKind>;
}>;


export type CreateWebhookMutation = { createWebhook:
    | { __typename: 'ConflictError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'CreateWebhookSuccess', secret: string, webhook: { id: string, name: string, url: string, kinds: Array<EventKind> } }
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
   | null };

export type ChangeWebhookKindsMutationVariables = Exact<{
  id: string;
  kinds: Array<EventKind>;
}>;


export type ChangeWebhookKindsMutation = { updateWebhook:
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'UpdateWebhookSuccess', webhook: { id: string, name: string, url: string, kinds: Array<EventKind> } }
   | null };

export type RentBestWithTemplateMutationVariables = Exact<{
  template: string;
  filter: OfferFilter;
  maxPricePerHour: string;
}>;


export type RentBestWithTemplateMutation = { rentBestOffer:
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InsufficientCreditError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
    | { __typename: 'NoOfferRentedError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, attempts: Array<{ offerId: string, failure: ErrorCode | null }> }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'QuotaExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'RentBestOfferSuccess', instance: { id: string, template: { id: string, name: string } | null, launch: { image: string, mode: { ssh: { direct: boolean } | null, jupyter: { direct: boolean, lab: boolean, directory: string | null } | null, args: { args: Array<string> } | null } } } }
    | { __typename: 'SpendLimitExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'SshKeyRequiredError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'StartBackoffError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'VolumeUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
   | null };

export type WatchBidsSubscriptionVariables = Exact<{
  filter?: InstanceFilter | null | undefined;
}>;


export type WatchBidsSubscription = { instanceChanges:
    | { __typename: 'InstanceChange', instance: { id: string, status: InstanceStatus, bidPerHour: string | null, minimumBidPerHour: string | null } }
    | { __typename: 'InstancesSynced' }
   };

export type HostedMachinesQueryVariables = Exact<{ [key: string]: never; }>;


export type HostedMachinesQuery = { viewer: { account: { hostedMachines: { totalCount: number, nodes: Array<{ listed: boolean, draining: boolean, freeGpus: number, rentedGpus: number, renterCostPerHour: string, machine: { id: string, gpu: { name: string } } }> } | null } | null } };

export type FindOffersQueryVariables = Exact<{
  filter: OfferFilter;
  pricing: OfferPricingInput;
}>;


export type FindOffersQuery = { offers: { nodes: Array<{ id: string, gpuName: string, numGpus: number, minimumBidPerHour: string, price: { pricePerHour: string }, machine: { id: string, numGpus: number } }> } | null };

export type QuoteQueryVariables = Exact<{
  input: RentInstanceInput;
}>;


export type QuoteQuery = { rentQuote: { rentable: boolean, waits: boolean, pricePerHour: string | null, gpuPricePerHour: string | null, diskPricePerHour: string | null, warnings: Array<string>, blockers: Array<
      | { __typename: 'BidTooLowError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'ConflictError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'ForbiddenError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'InsufficientCreditError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
      | { __typename: 'InvalidStateError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'NoOfferRentedError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'OfferUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'PriceChangedError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'QuotaExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'SpendLimitExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'SshKeyRequiredError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'StartBackoffError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
      | { __typename: 'VolumeUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    >, launch: { image: string, onStart: string | null, mode: { ssh: { direct: boolean } | null, jupyter: { direct: boolean, lab: boolean, directory: string | null } | null, args: { args: Array<string> } | null }, env: Array<{ name: string, value: string | null, secret: boolean, source: ConfigSource }>, ports: Array<{ containerPort: number, protocol: PortProtocol, source: ConfigSource }>, sources: { image: ConfigSource, mode: ConfigSource, onStart: ConfigSource, diskGb: ConfigSource, registry: ConfigSource } } | null } | null };

export type RentMutationVariables = Exact<{
  input: RentInstanceInput;
}>;


export type RentMutation = { rentInstance:
    | { __typename: 'BidTooLowError', hostMinimumBidPerHour: string, code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InsufficientCreditError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'OfferUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, yourInstance: { id: string } | null, alternatives: Array<{ id: string, price: { pricePerHour: string } }> }
    | { __typename: 'PriceChangedError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'QuotaExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'RentInstanceSuccess', replayed: boolean, warnings: Array<string>, instance: { id: string, status: InstanceStatus, pricePerHour: string } }
    | { __typename: 'SpendLimitExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'SshKeyRequiredError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'StartBackoffError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'VolumeUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
   | null };

export type RentBestOfferMutationVariables = Exact<{
  input: RentBestOfferInput;
}>;


export type RentBestOfferMutation = { rentBestOffer:
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InsufficientCreditError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
    | { __typename: 'NoOfferRentedError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, attempts: Array<{ offerId: string, failure: ErrorCode | null }> }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'QuotaExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'RentBestOfferSuccess', attempts: Array<{ offerId: string, failure: ErrorCode | null }>, instance: { id: string, gpuName: string, pricePerHour: string, rentalKind: RentalKind } }
    | { __typename: 'SpendLimitExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'SshKeyRequiredError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'StartBackoffError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'VolumeUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
   | null };

export type ReadStatusQueryVariables = Exact<{
  id: string;
}>;


export type ReadStatusQuery = { instance: { id: string, status: InstanceStatus, bidPerHour: string | null, minimumBidPerHour: string | null, statusReason: { code: ReasonCode, message: string } | null } | null };

export type ReadInstanceQueryVariables = Exact<{
  id: string;
}>;


export type ReadInstanceQuery = { instance: { id: string, label: string | null, rentalKind: RentalKind, idempotencyKey: string | null, machine: { id: string }, template: { id: string, hashId: string } | null, sshKeys: Array<{ id: string }>, volumes: Array<{ mountPath: string, volume: { id: string } | null }>, launch: { image: string, onStart: string | null, mode: { ssh: { direct: boolean } | null, jupyter: { direct: boolean, lab: boolean, directory: string | null } | null, args: { args: Array<string> } | null }, env: Array<{ name: string, value: string | null, secret: boolean, source: ConfigSource }>, ports: Array<{ containerPort: number, protocol: PortProtocol, source: ConfigSource }>, sources: { image: ConfigSource, mode: ConfigSource, onStart: ConfigSource, diskGb: ConfigSource, registry: ConfigSource } }, connection: { host: string, ports: Array<{ containerPort: number, hostPort: number, protocol: PortProtocol }> } | null, actions: Array<{ action: InstanceAction, available: boolean, reason: { code: ReasonCode, message: string } | null }> } | null };

export type LaunchFragment = { image: string, onStart: string | null, mode: { ssh: { direct: boolean } | null, jupyter: { direct: boolean, lab: boolean, directory: string | null } | null, args: { args: Array<string> } | null }, env: Array<{ name: string, value: string | null, secret: boolean, source: ConfigSource }>, ports: Array<{ containerPort: number, protocol: PortProtocol, source: ConfigSource }>, sources: { image: ConfigSource, mode: ConfigSource, onStart: ConfigSource, diskGb: ConfigSource, registry: ConfigSource } };

export type ChangeBidMutationVariables = Exact<{
  input: UpdateInstanceBidInput;
}>;


export type ChangeBidMutation = { updateInstanceBid:
    | { __typename: 'BidTooLowError', hostMinimumBidPerHour: string, code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InsufficientCreditError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
    | { __typename: 'InvalidStateError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'QuotaExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'SpendLimitExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'StartBackoffError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'UpdateInstanceBidSuccess', instance: { id: string, bidPerHour: string | null } }
   | null };

export type DestroyInstancesMutationVariables = Exact<{
  input: DestroyInstancesInput;
}>;


export type DestroyInstancesMutation = { destroyInstances:
    | { __typename: 'DestroyInstancesSuccess', succeededCount: number, items: Array<{ instanceId: string, outcome: BulkItemOutcome, error:
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
          | { code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
         | null }> }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
   | null };

export type StopOneMutationVariables = Exact<{
  id: string;
}>;


export type StopOneMutation = { stopInstance:
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidStateError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'StopInstanceSuccess', instance: { targetState: TargetState } }
   | null };

export type CreateTemplateMutationVariables = Exact<{
  input: CreateTemplateInput;
}>;


export type CreateTemplateMutation = { createTemplate:
    | { __typename: 'ConflictError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'CreateTemplateSuccess', replayed: boolean, template: { id: string, hashId: string, name: string, mode: { ssh: { direct: boolean } | null, jupyter: { direct: boolean, lab: boolean, directory: string | null } | null, args: { args: Array<string> } | null } | null, env: Array<{ name: string, value: string | null, secret: boolean }>, ports: Array<{ containerPort: number, hostPort: number, protocol: PortProtocol }> } }
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
   | null };

export type ReadTemplateQueryVariables = Exact<{
  by: TemplateByInput;
}>;


export type ReadTemplateQuery = { template: { id: string, hashId: string, name: string, mode: { ssh: { direct: boolean } | null, jupyter: { direct: boolean, lab: boolean, directory: string | null } | null, args: { args: Array<string> } | null } | null, env: Array<{ name: string, value: string | null, secret: boolean }>, ports: Array<{ containerPort: number, hostPort: number, protocol: PortProtocol }> } | null };

export type UpdateTemplateMutationVariables = Exact<{
  input: UpdateTemplateInput;
}>;


export type UpdateTemplateMutation = { updateTemplate:
    | { __typename: 'ConflictError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'UpdateTemplateSuccess', template: { id: string, hashId: string, name: string, mode: { ssh: { direct: boolean } | null, jupyter: { direct: boolean, lab: boolean, directory: string | null } | null, args: { args: Array<string> } | null } | null, env: Array<{ name: string, value: string | null, secret: boolean }>, ports: Array<{ containerPort: number, hostPort: number, protocol: PortProtocol }> } }
   | null };

export type SettingsFragment = { id: string, hashId: string, name: string, mode: { ssh: { direct: boolean } | null, jupyter: { direct: boolean, lab: boolean, directory: string | null } | null, args: { args: Array<string> } | null } | null, env: Array<{ name: string, value: string | null, secret: boolean }>, ports: Array<{ containerPort: number, hostPort: number, protocol: PortProtocol }> };

export type ModeFragment = { ssh: { direct: boolean } | null, jupyter: { direct: boolean, lab: boolean, directory: string | null } | null, args: { args: Array<string> } | null };

export type FindVolumeOffersQueryVariables = Exact<{
  machine: string;
  sizeGb: number;
}>;


export type FindVolumeOffersQuery = { volumeOffers: { nodes: Array<{ id: string, maxSizeGb: number, price: { pricePerHour: string }, machine: { id: string } }> } | null };

export type CreateVolumeMutationVariables = Exact<{
  input: CreateVolumeInput;
}>;


export type CreateVolumeMutation = { createVolume:
    | { __typename: 'CreateVolumeSuccess', replayed: boolean, volume: { id: string, name: string, sizeGb: number, pricePerHour: string, attachment: { mountPath: string } | null } }
    | { __typename: 'IdempotencyError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InsufficientCreditError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, issues: Array<{ path: string, message: string }> }
    | { __typename: 'OfferUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, yourInstance: { id: string } | null, alternatives: Array<{ id: string, price: { pricePerHour: string } }> }
    | { __typename: 'PriceChangedError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'QuotaExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'SpendLimitExceededError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
   | null };

export type DeleteVolumeMutationVariables = Exact<{
  input: DeleteVolumeInput;
}>;


export type DeleteVolumeMutation = { deleteVolume:
    | { __typename: 'DeleteVolumeSuccess', deletedId: string }
    | { __typename: 'InvalidInputError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'NotFoundError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null }
    | { __typename: 'VolumeUnavailableError', code: ErrorCode, message: string, retry: RetryAdvice, retryAfter: string | null, volume: { id: string } | null, attachedTo: { id: string } | null }
   | null };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const RefusalFragmentDoc = new TypedDocumentString(`
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
    `, {"fragmentName":"Refusal"}) as unknown as TypedDocumentString<RefusalFragment, unknown>;
export const InvalidInputFragmentDoc = new TypedDocumentString(`
    fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}
    `, {"fragmentName":"InvalidInput"}) as unknown as TypedDocumentString<InvalidInputFragment, unknown>;
export const OfferUnavailableFragmentDoc = new TypedDocumentString(`
    fragment OfferUnavailable on OfferUnavailableError {
  yourInstance {
    id
  }
  alternatives {
    id
    price {
      pricePerHour
    }
  }
}
    `, {"fragmentName":"OfferUnavailable"}) as unknown as TypedDocumentString<OfferUnavailableFragment, unknown>;
export const ModeFragmentDoc = new TypedDocumentString(`
    fragment Mode on LaunchMode {
  ssh {
    direct
  }
  jupyter {
    direct
    lab
    directory
  }
  args {
    args
  }
}
    `, {"fragmentName":"Mode"}) as unknown as TypedDocumentString<ModeFragment, unknown>;
export const LaunchFragmentDoc = new TypedDocumentString(`
    fragment Launch on LaunchConfig {
  image
  mode {
    ...Mode
  }
  onStart
  env {
    name
    value
    secret
    source
  }
  ports {
    containerPort
    protocol
    source
  }
  sources {
    image
    mode
    onStart
    diskGb
    registry
  }
}
    fragment Mode on LaunchMode {
  ssh {
    direct
  }
  jupyter {
    direct
    lab
    directory
  }
  args {
    args
  }
}`, {"fragmentName":"Launch"}) as unknown as TypedDocumentString<LaunchFragment, unknown>;
export const SettingsFragmentDoc = new TypedDocumentString(`
    fragment Settings on Template {
  id
  hashId
  name
  mode {
    ...Mode
  }
  env {
    name
    value
    secret
  }
  ports {
    containerPort
    hostPort
    protocol
  }
}
    fragment Mode on LaunchMode {
  ssh {
    direct
  }
  jupyter {
    direct
    lab
    directory
  }
  args {
    args
  }
}`, {"fragmentName":"Settings"}) as unknown as TypedDocumentString<SettingsFragment, unknown>;
export const ViewerDocument = new TypedDocumentString(`
    query Viewer {
  viewer {
    account {
      id
      email
      credit
      sshKeys {
        id
        fingerprint
      }
      apiKeys {
        id
        name
        current
        permissions {
          category
          operation {
            operation
            constraints {
              parameter
              operator
              value {
                id
                number
                boolean
              }
            }
          }
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ViewerQuery, ViewerQueryVariables>;
export const RegisterSshKeyDocument = new TypedDocumentString(`
    mutation RegisterSshKey($input: CreateSshKeyInput!) {
  createSshKey(input: $input) {
    __typename
    ... on CreateSshKeySuccess {
      replayed
      sshKey {
        id
        name
        fingerprint
      }
    }
    ...Refusal
    ...InvalidInput
    ... on ConflictError {
      id
    }
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}`) as unknown as TypedDocumentString<RegisterSshKeyMutation, RegisterSshKeyMutationVariables>;
export const CreateApiKeyDocument = new TypedDocumentString(`
    mutation CreateApiKey($input: CreateApiKeyInput!) {
  createApiKey(input: $input) {
    __typename
    ... on CreateApiKeySuccess {
      secret
      apiKey {
        id
        prefix
        permissions {
          category
          operation {
            operation
          }
        }
      }
    }
    ...Refusal
    ...InvalidInput
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}`) as unknown as TypedDocumentString<CreateApiKeyMutation, CreateApiKeyMutationVariables>;
export const RevokeApiKeyDocument = new TypedDocumentString(`
    mutation RevokeApiKey($input: DeleteApiKeyInput!) {
  deleteApiKey(input: $input) {
    __typename
    ... on DeleteApiKeySuccess {
      deletedId
    }
    ...Refusal
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}`) as unknown as TypedDocumentString<RevokeApiKeyMutation, RevokeApiKeyMutationVariables>;
export const SearchWithFacetsDocument = new TypedDocumentString(`
    query SearchWithFacets($filter: OfferFilter!, $first: Int!) {
  offers(filter: $filter, first: $first, orderBy: [{field: PRICE_PER_GPU_HOUR}]) {
    totalCount
    facets(by: [GPU_NAME, REGION, NUM_GPUS]) {
      field
      values {
        value
        count
        minimumPricePerHour
      }
    }
    nodes {
      id
      gpuName
      numGpus
      gpuRamGb
      price {
        pricePerHour
        pricePerGpuHour
      }
      machine {
        city
        region
        reliability
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SearchWithFacetsQuery, SearchWithFacetsQueryVariables>;
export const QuoteRentalDocument = new TypedDocumentString(`
    query QuoteRental($input: RentInstanceInput!) {
  rentQuote(input: $input) {
    rentable
    waits
    pricePerHour
    runwaySecondsAfter
    blockers {
      __typename
      ...Refusal
      ...InvalidInput
      ... on InsufficientCreditError {
        available
        needed
      }
    }
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}`) as unknown as TypedDocumentString<QuoteRentalQuery, QuoteRentalQueryVariables>;
export const RentOfferDocument = new TypedDocumentString(`
    mutation RentOffer($input: RentInstanceInput!) {
  rentInstance(input: $input) {
    __typename
    ... on RentInstanceSuccess {
      replayed
      instance {
        id
        status
        costPerHour
      }
    }
    ...Refusal
    ...InvalidInput
    ...OfferUnavailable
    ... on BidTooLowError {
      hostMinimumBidPerHour
    }
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}
fragment OfferUnavailable on OfferUnavailableError {
  yourInstance {
    id
  }
  alternatives {
    id
    price {
      pricePerHour
    }
  }
}`) as unknown as TypedDocumentString<RentOfferMutation, RentOfferMutationVariables>;
export const WatchFleetDocument = new TypedDocumentString(`
    subscription WatchFleet($filter: InstanceFilter, $after: String) {
  instanceChanges(filter: $filter, after: $after) {
    __typename
    cursor
    ... on InstanceChange {
      kind
      instanceId
      instance {
        label
        status
        targetState
        costPerHour
      }
    }
  }
}
    `) as unknown as TypedDocumentString<WatchFleetSubscription, WatchFleetSubscriptionVariables>;
export const StopByLabelDocument = new TypedDocumentString(`
    mutation StopByLabel($prefix: String!, $dryRun: Boolean!, $expectedCount: Int) {
  stopInstances(
    input: {target: {filter: {label: {startsWith: $prefix}}}, dryRun: $dryRun, expectedCount: $expectedCount}
  ) {
    __typename
    ... on StopInstancesSuccess {
      matchedCount
      failedCount
      items {
        instanceId
        outcome
        instance {
          label
          targetState
        }
        error {
          ...Refusal
        }
      }
    }
    ...Refusal
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}`) as unknown as TypedDocumentString<StopByLabelMutation, StopByLabelMutationVariables>;
export const LastLogLinesDocument = new TypedDocumentString(`
    query LastLogLines($filter: InstanceFilter) {
  instances(filter: $filter) {
    totalCount
    nodes {
      id
      label
      status
      logs(tail: 1) {
        printedAt
        source
        text
      }
    }
  }
}
    `) as unknown as TypedDocumentString<LastLogLinesQuery, LastLogLinesQueryVariables>;
export const SpendByLabelDocument = new TypedDocumentString(`
    query SpendByLabel($startsAt: DateTime!, $endsAt: DateTime!) {
  viewer {
    account {
      usage(startsAt: $startsAt, endsAt: $endsAt, groupBy: [LABEL]) {
        cost
        totals {
          cost
          keys {
            __typename
            ... on LabelUsageKey {
              label
            }
          }
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SpendByLabelQuery, SpendByLabelQueryVariables>;
export const CreateConstrainedKeyDocument = new TypedDocumentString(`
    mutation CreateConstrainedKey($name: String!, $instanceId: ID!, $expiresAt: DateTime!) {
  createApiKey(
    input: {name: $name, expiresAt: $expiresAt, permissions: [{operation: {operation: UPDATE_INSTANCE, constraints: [{parameter: "id", operator: EQ, value: {id: $instanceId}}]}}]}
  ) {
    __typename
    ... on CreateApiKeySuccess {
      secret
      apiKey {
        id
        expiresAt
        permissions {
          operation {
            operation
            constraints {
              parameter
              operator
              value {
                id
              }
            }
          }
        }
      }
    }
    ...Refusal
    ...InvalidInput
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}`) as unknown as TypedDocumentString<CreateConstrainedKeyMutation, CreateConstrainedKeyMutationVariables>;
export const CreateWebhookDocument = new TypedDocumentString(`
    mutation CreateWebhook($name: String!, $url: String!, $kinds: [EventKind!]!) {
  createWebhook(input: {name: $name, url: $url, kinds: $kinds}) {
    __typename
    ... on CreateWebhookSuccess {
      secret
      webhook {
        id
        name
        url
        kinds
      }
    }
    ...Refusal
    ...InvalidInput
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}`) as unknown as TypedDocumentString<CreateWebhookMutation, CreateWebhookMutationVariables>;
export const ChangeWebhookKindsDocument = new TypedDocumentString(`
    mutation ChangeWebhookKinds($id: ID!, $kinds: [EventKind!]!) {
  updateWebhook(input: {id: $id, kinds: $kinds}) {
    __typename
    ... on UpdateWebhookSuccess {
      webhook {
        id
        name
        url
        kinds
      }
    }
    ...Refusal
    ...InvalidInput
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}`) as unknown as TypedDocumentString<ChangeWebhookKindsMutation, ChangeWebhookKindsMutationVariables>;
export const RentBestWithTemplateDocument = new TypedDocumentString(`
    mutation RentBestWithTemplate($template: String!, $filter: OfferFilter!, $maxPricePerHour: Usd!) {
  rentBestOffer(
    input: {filter: $filter, terms: {onDemand: {maxPricePerHour: $maxPricePerHour}}, spec: {source: {template: {by: {name: $template}}}}}
  ) {
    __typename
    ... on RentBestOfferSuccess {
      instance {
        id
        template {
          id
          name
        }
        launch {
          image
          mode {
            ...Mode
          }
        }
      }
    }
    ...Refusal
    ...InvalidInput
    ... on NoOfferRentedError {
      attempts {
        offerId
        failure
      }
    }
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}
fragment Mode on LaunchMode {
  ssh {
    direct
  }
  jupyter {
    direct
    lab
    directory
  }
  args {
    args
  }
}`) as unknown as TypedDocumentString<RentBestWithTemplateMutation, RentBestWithTemplateMutationVariables>;
export const WatchBidsDocument = new TypedDocumentString(`
    subscription WatchBids($filter: InstanceFilter) {
  instanceChanges(filter: $filter) {
    __typename
    ... on InstanceChange {
      instance {
        id
        status
        bidPerHour
        minimumBidPerHour
      }
    }
  }
}
    `) as unknown as TypedDocumentString<WatchBidsSubscription, WatchBidsSubscriptionVariables>;
export const HostedMachinesDocument = new TypedDocumentString(`
    query HostedMachines {
  viewer {
    account {
      hostedMachines(first: 100) {
        totalCount
        nodes {
          machine {
            id
            gpu {
              name
            }
          }
          listed
          draining
          freeGpus
          rentedGpus
          renterCostPerHour
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<HostedMachinesQuery, HostedMachinesQueryVariables>;
export const FindOffersDocument = new TypedDocumentString(`
    query FindOffers($filter: OfferFilter!, $pricing: OfferPricingInput!) {
  offers(first: 5, filter: $filter, pricing: $pricing) {
    nodes {
      id
      gpuName
      numGpus
      price(pricing: $pricing) {
        pricePerHour
      }
      minimumBidPerHour
      machine {
        id
        numGpus
      }
    }
  }
}
    `) as unknown as TypedDocumentString<FindOffersQuery, FindOffersQueryVariables>;
export const QuoteDocument = new TypedDocumentString(`
    query Quote($input: RentInstanceInput!) {
  rentQuote(input: $input) {
    rentable
    waits
    pricePerHour
    gpuPricePerHour
    diskPricePerHour
    warnings
    blockers {
      __typename
      ...Refusal
      ...InvalidInput
    }
    launch {
      ...Launch
    }
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}
fragment Launch on LaunchConfig {
  image
  mode {
    ...Mode
  }
  onStart
  env {
    name
    value
    secret
    source
  }
  ports {
    containerPort
    protocol
    source
  }
  sources {
    image
    mode
    onStart
    diskGb
    registry
  }
}
fragment Mode on LaunchMode {
  ssh {
    direct
  }
  jupyter {
    direct
    lab
    directory
  }
  args {
    args
  }
}`) as unknown as TypedDocumentString<QuoteQuery, QuoteQueryVariables>;
export const RentDocument = new TypedDocumentString(`
    mutation Rent($input: RentInstanceInput!) {
  rentInstance(input: $input) {
    __typename
    ... on RentInstanceSuccess {
      replayed
      warnings
      instance {
        id
        status
        pricePerHour
      }
    }
    ...Refusal
    ...InvalidInput
    ...OfferUnavailable
    ... on BidTooLowError {
      hostMinimumBidPerHour
    }
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}
fragment OfferUnavailable on OfferUnavailableError {
  yourInstance {
    id
  }
  alternatives {
    id
    price {
      pricePerHour
    }
  }
}`) as unknown as TypedDocumentString<RentMutation, RentMutationVariables>;
export const RentBestOfferDocument = new TypedDocumentString(`
    mutation RentBestOffer($input: RentBestOfferInput!) {
  rentBestOffer(input: $input) {
    __typename
    ... on RentBestOfferSuccess {
      attempts {
        offerId
        failure
      }
      instance {
        id
        gpuName
        pricePerHour
        rentalKind
      }
    }
    ...Refusal
    ...InvalidInput
    ... on NoOfferRentedError {
      attempts {
        offerId
        failure
      }
    }
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}`) as unknown as TypedDocumentString<RentBestOfferMutation, RentBestOfferMutationVariables>;
export const ReadStatusDocument = new TypedDocumentString(`
    query ReadStatus($id: ID!) {
  instance(id: $id) {
    id
    status
    statusReason {
      code
      message
    }
    bidPerHour
    minimumBidPerHour
  }
}
    `) as unknown as TypedDocumentString<ReadStatusQuery, ReadStatusQueryVariables>;
export const ReadInstanceDocument = new TypedDocumentString(`
    query ReadInstance($id: ID!) {
  instance(id: $id) {
    id
    label
    rentalKind
    idempotencyKey
    machine {
      id
    }
    template {
      id
      hashId
    }
    sshKeys {
      id
    }
    volumes {
      mountPath
      volume {
        id
      }
    }
    launch {
      ...Launch
    }
    connection {
      host
      ports {
        containerPort
        hostPort
        protocol
      }
    }
    actions {
      action
      available
      reason {
        code
        message
      }
    }
  }
}
    fragment Launch on LaunchConfig {
  image
  mode {
    ...Mode
  }
  onStart
  env {
    name
    value
    secret
    source
  }
  ports {
    containerPort
    protocol
    source
  }
  sources {
    image
    mode
    onStart
    diskGb
    registry
  }
}
fragment Mode on LaunchMode {
  ssh {
    direct
  }
  jupyter {
    direct
    lab
    directory
  }
  args {
    args
  }
}`) as unknown as TypedDocumentString<ReadInstanceQuery, ReadInstanceQueryVariables>;
export const ChangeBidDocument = new TypedDocumentString(`
    mutation ChangeBid($input: UpdateInstanceBidInput!) {
  updateInstanceBid(input: $input) {
    __typename
    ... on UpdateInstanceBidSuccess {
      instance {
        id
        bidPerHour
      }
    }
    ...Refusal
    ...InvalidInput
    ... on BidTooLowError {
      hostMinimumBidPerHour
    }
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}`) as unknown as TypedDocumentString<ChangeBidMutation, ChangeBidMutationVariables>;
export const DestroyInstancesDocument = new TypedDocumentString(`
    mutation DestroyInstances($input: DestroyInstancesInput!) {
  destroyInstances(input: $input) {
    __typename
    ... on DestroyInstancesSuccess {
      succeededCount
      items {
        instanceId
        outcome
        error {
          ...Refusal
        }
      }
    }
    ...Refusal
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}`) as unknown as TypedDocumentString<DestroyInstancesMutation, DestroyInstancesMutationVariables>;
export const StopOneDocument = new TypedDocumentString(`
    mutation StopOne($id: ID!) {
  stopInstance(input: {id: $id}) {
    __typename
    ... on StopInstanceSuccess {
      instance {
        targetState
      }
    }
    ...Refusal
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}`) as unknown as TypedDocumentString<StopOneMutation, StopOneMutationVariables>;
export const CreateTemplateDocument = new TypedDocumentString(`
    mutation CreateTemplate($input: CreateTemplateInput!) {
  createTemplate(input: $input) {
    __typename
    ... on CreateTemplateSuccess {
      replayed
      template {
        ...Settings
      }
    }
    ...Refusal
    ...InvalidInput
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}
fragment Settings on Template {
  id
  hashId
  name
  mode {
    ...Mode
  }
  env {
    name
    value
    secret
  }
  ports {
    containerPort
    hostPort
    protocol
  }
}
fragment Mode on LaunchMode {
  ssh {
    direct
  }
  jupyter {
    direct
    lab
    directory
  }
  args {
    args
  }
}`) as unknown as TypedDocumentString<CreateTemplateMutation, CreateTemplateMutationVariables>;
export const ReadTemplateDocument = new TypedDocumentString(`
    query ReadTemplate($by: TemplateByInput!) {
  template(by: $by) {
    ...Settings
  }
}
    fragment Settings on Template {
  id
  hashId
  name
  mode {
    ...Mode
  }
  env {
    name
    value
    secret
  }
  ports {
    containerPort
    hostPort
    protocol
  }
}
fragment Mode on LaunchMode {
  ssh {
    direct
  }
  jupyter {
    direct
    lab
    directory
  }
  args {
    args
  }
}`) as unknown as TypedDocumentString<ReadTemplateQuery, ReadTemplateQueryVariables>;
export const UpdateTemplateDocument = new TypedDocumentString(`
    mutation UpdateTemplate($input: UpdateTemplateInput!) {
  updateTemplate(input: $input) {
    __typename
    ... on UpdateTemplateSuccess {
      template {
        ...Settings
      }
    }
    ...Refusal
    ...InvalidInput
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}
fragment Settings on Template {
  id
  hashId
  name
  mode {
    ...Mode
  }
  env {
    name
    value
    secret
  }
  ports {
    containerPort
    hostPort
    protocol
  }
}
fragment Mode on LaunchMode {
  ssh {
    direct
  }
  jupyter {
    direct
    lab
    directory
  }
  args {
    args
  }
}`) as unknown as TypedDocumentString<UpdateTemplateMutation, UpdateTemplateMutationVariables>;
export const FindVolumeOffersDocument = new TypedDocumentString(`
    query FindVolumeOffers($machine: ID!, $sizeGb: Float!) {
  volumeOffers(first: 1, sizeGb: $sizeGb, filter: {machineId: {eq: $machine}}) {
    nodes {
      id
      maxSizeGb
      price(sizeGb: $sizeGb) {
        pricePerHour
      }
      machine {
        id
      }
    }
  }
}
    `) as unknown as TypedDocumentString<FindVolumeOffersQuery, FindVolumeOffersQueryVariables>;
export const CreateVolumeDocument = new TypedDocumentString(`
    mutation CreateVolume($input: CreateVolumeInput!) {
  createVolume(input: $input) {
    __typename
    ... on CreateVolumeSuccess {
      replayed
      volume {
        id
        name
        sizeGb
        pricePerHour
        attachment {
          mountPath
        }
      }
    }
    ...Refusal
    ...InvalidInput
    ...OfferUnavailable
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}
fragment InvalidInput on InvalidInputError {
  issues {
    path
    message
  }
}
fragment OfferUnavailable on OfferUnavailableError {
  yourInstance {
    id
  }
  alternatives {
    id
    price {
      pricePerHour
    }
  }
}`) as unknown as TypedDocumentString<CreateVolumeMutation, CreateVolumeMutationVariables>;
export const DeleteVolumeDocument = new TypedDocumentString(`
    mutation DeleteVolume($input: DeleteVolumeInput!) {
  deleteVolume(input: $input) {
    __typename
    ... on DeleteVolumeSuccess {
      deletedId
    }
    ...Refusal
    ... on VolumeUnavailableError {
      volume {
        id
      }
      attachedTo {
        id
      }
    }
  }
}
    fragment Refusal on Error {
  code
  message
  retry
  retryAfter
}`) as unknown as TypedDocumentString<DeleteVolumeMutation, DeleteVolumeMutationVariables>;