//! An embedded Kubernetes API: storage, watch, custom kinds, `kubectl`. It gives a program without a cluster the API
//! its controllers need, and a test the real thing in milliseconds. It knows nothing of hosts or clusters.
//!
//! ```no_run
//! # async fn demo() -> Result<(), bessemer_apiserver::Error> {
//! let api = bessemer_apiserver::ApiServer::open(std::path::Path::new("/var/lib/demo")).await?;
//! let router = api.router(); // kube::Client::new(router, "default") speaks to it in-process
//! # let _ = router; Ok(()) }
//! ```
//!
//! Served: every verb, server-side apply, the status and scale subresources, for the built-in kinds that controllers and
//! `kubectl` need (see `builtin`), and every kind a definition adds; protobuf bodies of the built-in kinds; reviews of
//! access. Enforced: role-based access control for whoever comes through the HTTPS listener; schemas and the rules of each
//! kind; garbage collection in the background, in the foreground and by orphaning. Stored only: webhook configurations.
//! Left out: escalation checks of roles, tokens of service accounts, aggregated APIs.
//!
//! Custom kinds have schema validation, defaults, pruning, CEL rules, selectable fields, and several versions, which a
//! function registered with [`ApiServer::register_conversion`] converts; texts of errors are upstream's. Not there:
//! conversion webhooks (a definition may name one; what would need it fails and says so), OpenAPI v2. What a CEL rule can
//! cost is estimated when its definition is written, as upstream does; a budget of steps ends what runs too long.
//!
//! # What is kept, and how
//! Objects are in `apiserver.redb`, with two journals beside it that take each write first; a backup has all three. A
//! write is answered once it is flushed to the disk. Several processes cannot share the files. A damaged, foreign or
//! newer file is an error that names it and the remedy. When the disk is full, writes are refused (as etcd does,
//! `etcdserver: mvcc: database space exceeded`) and reads go on; once there is space, so do writes. After a flush that
//! failed nothing is written any more until a restart, because nobody can say what reached the disk.
//!
//! Events end an hour after their last write. The history from which watches and lists of earlier versions are served
//! has up to 8192 changes, 16 MiB and 15 minutes of each resource, and ends with the process: what is older is answered
//! with 410, as upstream answers it after a compaction.
//!
//! # Owners of fields
//! Every write keeps `managedFields` as upstream does. One thing differs: the texts for broken YAML are those of another
//! reader.
//!
//! # Limits
//! Objects 1.5 MiB (as JSON), bodies 3 MiB; 400 reads and 200 writes at once, 2048 more waiting of each (then 429),
//! 4096 watches; 1024 connections, heads of 64 KiB, 250 streams a connection. A client that takes nothing of what is
//! sent for a minute, sends nothing of a request for ten seconds, or does not authenticate in 15 seconds loses its
//! connection. Watches pull from the shared history, so that a slow one costs nothing; one that falls behind is ended
//! with 410. Watches over websockets are not served.

mod access;
mod apply;
mod body;
mod builtin;
mod cel;
mod conversion;
mod core;
mod crd;
mod discovery;
mod expire;
mod flavour;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod gc;
mod gotext;
mod handlers;
mod health;
mod jsonpath;
mod lifecycle;
mod limits;
mod metrics;
mod names;
mod object;
mod openapi;
mod pretty;
mod protobuf;
mod registry;
mod represent;
mod request;
mod schema;
mod selector;
mod server;
mod status;
mod store;
mod table;
mod webhook;
mod yaml;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use serde_json::{Value, json};
use thiserror::Error;

pub use conversion::Convert;
pub use server::{ServeError, Serving};
pub use store::StoreError;

use crate::core::Core;
use crate::handlers::Own;

/// Namespaces that are always there at a start.
const NAMESPACES: &[&str] = &["default", "kube-system", "kube-public", "kube-node-lease"];

/// The store's file inside the data directory.
const FILE: &str = "apiserver.redb";

/// Why the server cannot start or take its definitions.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The data directory cannot be made.
    #[error("cannot create the data directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An object that the server itself needs was refused.
    #[error("cannot store {name}: {message}")]
    Install {
        /// The object's name.
        name: String,
        /// The refusal, as a client would read it.
        message: String,
    },
}

/// An open API server. Cheap to clone; the store closes when the last clone, router and watch are gone.
#[derive(Clone)]
pub struct ApiServer {
    core: Arc<Core>,
    dir: PathBuf,
}

impl ApiServer {
    /// Opens (or creates) the server's state in `dir`, readable by its owner only.
    ///
    /// # Errors
    /// When the directory or the store cannot be made or read, or another process has it open.
    pub async fn open(dir: &Path) -> Result<Self, Error> {
        let make = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        make.map_err(|source| Error::Directory { path: dir.to_owned(), source })?;
        let core = Arc::new(Core::open(&dir.join(FILE))?);
        tokio::spawn(expire::run(Arc::downgrade(&core)));
        let server = Self { core, dir: dir.to_owned() };
        server.install_defaults().await?;
        Ok(server)
    }

    /// The API as an in-process service. Whoever holds it is the administrator: nothing is asked.
    pub fn router(&self) -> Router {
        async fn serve(State(core): State<Arc<Core>>, request: Request) -> axum::response::Response {
            handlers::handle(core, request).await
        }
        Router::new().fallback(serve).with_state(Arc::clone(&self.core))
    }

    /// Stores CustomResourceDefinitions, all or none, replacing older ones; their kinds are served when this returns.
    ///
    /// # Errors
    /// When a definition is refused, with the reasons.
    pub async fn install_crds(&self, definitions: &[Value]) -> Result<(), Error> {
        let own = |definition: &Value| Own {
            group: "apiextensions.k8s.io",
            plural: "customresourcedefinitions",
            object: definition.clone(),
        };
        handlers::put(&self.core, definitions.iter().map(own).collect(), false).await
    }

    /// What the server counts, as OpenMetrics text.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.core.metrics().text(&self.core.store().read())
    }

    /// What every cluster has: its namespaces, roles and bindings.
    async fn install_defaults(&self) -> Result<(), Error> {
        let namespace = |name: &&str| {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            Own { group: "", plural: "namespaces", object }
        };
        let role = |object: Value| {
            let is_role = object.get("kind").and_then(Value::as_str) == Some("ClusterRole");
            let plural = if is_role { "clusterroles" } else { "clusterrolebindings" };
            Own { group: builtin::RBAC, plural, object }
        };
        let objects = NAMESPACES.iter().map(namespace).chain(access::defaults().into_iter().map(role)).collect();
        handlers::put(&self.core, objects, true).await
    }

    /// Registers how the objects of a kind change version, in place of what its definition says. To be called before the
    /// server is used, and again after each start: objects that were stored in another version cannot be read without.
    pub fn register_conversion(&self, group: &str, kind: &str, conversion: Arc<dyn Convert>) {
        self.core.convert_with(group, kind, conversion);
    }

    /// Ends all watches and refuses new ones, so that clients let go of the server.
    pub fn close(&self) {
        self.core.close();
    }
}
