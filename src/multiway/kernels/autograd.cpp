/* A chain of products as one node of autograd: what `_Chain` of `compiled.py` does, without Python between a call and its
 * sum. A module of Python, compiled for the torch that is installed; where it was not, or declines, Python does the work. */

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/Exceptions.h>

using at::Tensor;
using torch::autograd::variable_list;

static int (*run_chain)(const void *layout, const void *pointers, int64_t rows, int64_t threads, void *launcher);
static void *launcher;
static int64_t thread_work;
static PyObject *derive; /* gradients in operations of torch: derive(plain, tensors, needed, grad) */
static uint64_t plain_keys;

enum { LAYOUT_ADDRESS = 1, OUT_SHAPE = 3, WORK, INPUTS }; /* fields of `compiled.Chain` */

static int64_t whole(PyObject *tuple, Py_ssize_t field) { return PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, field)); }

/* Nobody watches operations: no transform, mode, trace or autocast; what the dispatcher includes and excludes is as ever. */
static bool is_unwatched() {
    const auto &local = c10::impl::raw_local_dispatch_key_set;
    return !local.included_ && !local.excluded_ && !torch::autograd::ForwardADLevel::try_get_by_idx(0);
}

/* Float32 in the processor's memory, contiguous, and nothing but its numbers. */
static bool is_plain(const Tensor &tensor) {
    return tensor.defined() && (tensor.key_set().raw_repr() | plain_keys) == plain_keys &&
           tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

static bool are_plain(const variable_list &tensors) {
    return is_unwatched() && std::all_of(tensors.begin(), tensors.end(), is_plain);
}

/* Forward into `out`, or, of its gradient `grad`, backward into those of x and parameters that are defined. */
static void call(PyObject *chain, const variable_list &tensors, const Tensor &out, const Tensor &grad,
                 const variable_list &into) {
    auto address = [](const Tensor &tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; };
    c10::SmallVector<void *, 16> given{tensors[0].data_ptr(), address(out), address(grad),
                                       into.empty() ? nullptr : address(into[0])};
    for (size_t i = 1; i < tensors.size(); i++) given.push_back(tensors[i].data_ptr());
    for (size_t i = 1; i < tensors.size(); i++) given.push_back(into.empty() ? nullptr : address(into[i]));
    int64_t rows = tensors[0].size(0), worth = rows * whole(chain, WORK) / thread_work;
    int64_t threads = std::max<int64_t>(1, std::min<int64_t>(at::get_num_threads(), worth));
    auto layout = reinterpret_cast<const void *>(whole(chain, LAYOUT_ADDRESS));
    if (run_chain(layout, given.data(), rows, threads, threads > 1 ? launcher : nullptr))
        TORCH_CHECK(false, "multiway kernels: no memory for the scratch of a chain of products.");
}

struct ChainBackward : torch::autograd::Node {
    PyObject *chain, *plain;
    std::vector<torch::autograd::SavedVariable> saved;

    ChainBackward(PyObject *chain, PyObject *plain, const variable_list &tensors)
        : Node(torch::autograd::collect_next_edges(tensors)), chain(Py_NewRef(chain)), plain(Py_NewRef(plain)) {
        for (const auto &tensor : tensors) saved.emplace_back(tensor, false);
    }

    ~ChainBackward() override {
        if (!Py_IsInitialized()) return;
        pybind11::gil_scoped_acquire held;
        Py_DECREF(chain);
        Py_DECREF(plain);
    }

    void release_variables() override {
        for (auto &each : saved) each.reset_data();
    }

    std::string name() const override { return "ChainBackward"; }

    variable_list apply(variable_list &&above) override {
        variable_list tensors, into(saved.size());
        if (!above[0].defined()) return into;
        for (auto &each : saved) tensors.push_back(each.unpack());
        Tensor grad = above[0].contiguous();
        if (at::GradMode::is_enabled() || !is_plain(grad) || !are_plain(tensors)) return by_torch(grad, tensors);
        for (size_t i = 0; i < into.size(); i++)
            if (task_should_compute_output(i)) into[i] = at::empty_like(tensors[i]);
        pybind11::gil_scoped_acquire held; /* to read the chain */
        call(chain, tensors, Tensor(), grad, into);
        return into;
    }

    variable_list by_torch(const Tensor &grad, const variable_list &tensors) {
        pybind11::gil_scoped_acquire held;
        pybind11::list given, needed;
        for (size_t i = 0; i < tensors.size(); i++) {
            given.append(pybind11::reinterpret_steal<pybind11::object>(THPVariable_Wrap(tensors[i])));
            needed.append(task_should_compute_output(i));
        }
        PyObject *made = PyObject_CallFunction(derive, "OOON", plain, given.ptr(), needed.ptr(), THPVariable_Wrap(grad));
        if (!made) throw python_error();
        auto list = pybind11::reinterpret_steal<pybind11::list>(made);
        variable_list into;
        for (auto each : list) into.push_back(each.is_none() ? Tensor() : THPVariable_Unpack(each.ptr()));
        return into;
    }
};

/* By the pointer that this version of torch has for nodes. */
template <class Owner> static Owner owned(ChainBackward *node) {
    if constexpr (std::is_constructible_v<Owner, ChainBackward *>) return Owner(node);
    else return Owner::unsafe_steal_from_new(node);
}

/* run(chain, plain, x, *parameters): the result, or None where something is not plain. */
static PyObject *run(PyObject *, PyObject *const *given, Py_ssize_t count) {
    HANDLE_TH_ERRORS
    variable_list tensors;
    tensors.reserve(count);
    for (Py_ssize_t i = 2; i < count; i++) {
        if (!THPVariable_CheckExact(given[i])) Py_RETURN_NONE;
        tensors.push_back(THPVariable_Unpack(given[i]));
    }
    PyObject *chain = given[0], *shape = PyTuple_GET_ITEM(chain, OUT_SHAPE);
    if (!are_plain(tensors) || !tensors[0].numel() || tensors[0].numel() != tensors[0].size(0) * whole(chain, INPUTS))
        Py_RETURN_NONE;
    c10::SmallVector<int64_t, 6> sizes{tensors[0].size(0)};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); i++) sizes.push_back(whole(shape, i));
    Tensor out = at::empty(sizes, tensors[0].options().requires_grad(false));
    call(chain, tensors, out, Tensor(), {});
    auto needs = [](const Tensor &tensor) { return tensor.requires_grad(); };
    if (at::GradMode::is_enabled() && std::any_of(tensors.begin(), tensors.end(), needs)) {
        using Owner = decltype(torch::autograd::Edge::function);
        torch::autograd::create_gradient_edge(out, owned<Owner>(new ChainBackward(chain, given[1], tensors)));
    }
    return THPVariable_Wrap(out);
    END_HANDLE_TH_ERRORS
}

/* start(address of `chain`, address of the launcher or None, work of a thread, derive) */
static PyObject *start(PyObject *, PyObject *const *given, Py_ssize_t) {
    run_chain = reinterpret_cast<decltype(run_chain)>(PyLong_AsVoidPtr(given[0]));
    launcher = given[1] == Py_None ? nullptr : PyLong_AsVoidPtr(given[1]);
    thread_work = PyLong_AsLongLong(given[2]);
    derive = Py_NewRef(given[3]);
    plain_keys = at::empty({1}).key_set().raw_repr();
    Py_RETURN_NONE;
}

#define METHOD(NAME) {#NAME, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(NAME)), METH_FASTCALL, nullptr}
static PyMethodDef methods[] = {METHOD(run), METHOD(start), {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "autograd", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_autograd() { return PyModule_Create(&module); }
